import { Effect, Option, Queue, Schema, type Scope } from "effect"
import cluster, { type Worker } from "node:cluster"
import { mergedMetrics } from "../../services/metrics/MetricsText.ts"

const TIMEOUT_MS = 500

/** The worker that is scraped asks the primary, which collects the metrics of all workers. */
const Message = Schema.Union([
  Schema.TaggedStruct("MetricsWanted", {}),
  Schema.TaggedStruct("MetricsRequest", { id: Schema.Int }),
  Schema.TaggedStruct("MetricsResponse", { id: Schema.Int, text: Schema.String }),
  Schema.TaggedStruct("MetricsGathered", { text: Schema.String })
])
type Message = typeof Message.Type

const decode = Schema.decodeUnknownOption(Message)

const send = (worker: Worker, message: Message) => {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

interface Scrape {
  readonly responses: Map<string, string>
  readonly expected: number
  readonly finish: () => void
}

const liveWorkers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected() === true)

const makeRelay = () => {
  const scrapes = new Map<number, Scrape>()
  const started = { count: 0 }

  const scrape = (requester: Worker) => {
    const id = started.count
    started.count += 1
    const responses = new Map<string, string>()
    const finish = () => {
      if (scrapes.delete(id)) send(requester, { _tag: "MetricsGathered", text: mergedMetrics(responses) })
    }
    const workers = liveWorkers().filter((worker) => worker !== undefined)
    scrapes.set(id, { responses, expected: workers.length, finish })
    setTimeout(finish, TIMEOUT_MS).unref()
    workers.forEach((worker) => send(worker, { _tag: "MetricsRequest", id }))
  }

  return (worker: Worker, received: unknown) => {
    const message = Option.getOrUndefined(decode(received))
    if (message?._tag === "MetricsWanted") scrape(worker)
    if (message?._tag !== "MetricsResponse") return
    const running = scrapes.get(message.id)
    running?.responses.set(String(worker.id), message.text)
    if (running?.responses.size === running?.expected) running?.finish()
  }
}

export const relayMetrics: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const relay = makeRelay()
    cluster.on("message", relay)
    return relay
  }),
  (relay) => Effect.sync(() => cluster.off("message", relay))
)

const respond = (id: number) => (text: string) => process.send?.({ _tag: "MetricsResponse", id, text })

/** The metrics of all workers, each with the label `worker`; sends those of this one on request. */
export const gatherMetrics = (own: Effect.Effect<string>): Effect.Effect<Effect.Effect<string>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const gathered = yield* Queue.unbounded<string>()
    const context = yield* Effect.context<never>()
    const onMessage = (received: unknown) => {
      const message = Option.getOrUndefined(decode(received))
      if (message?._tag === "MetricsRequest") Effect.runForkWith(context)(Effect.map(own, respond(message.id)))
      if (message?._tag === "MetricsGathered") Queue.offerUnsafe(gathered, message.text)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("message", onMessage)),
      () => Effect.sync(() => process.off("message", onMessage))
    )
    const gather = Effect.andThen(
      Queue.clear(gathered),
      Effect.sync(() => process.send?.({ _tag: "MetricsWanted" }))
    ).pipe(
      Effect.andThen(Queue.take(gathered)),
      Effect.timeoutOrElse({ duration: 2 * TIMEOUT_MS, orElse: () => own })
    )
    return yield* Effect.succeed(gather)
  })
