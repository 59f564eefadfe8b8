import { Effect, Option, Queue, Schema, type Scope } from "effect"
import cluster, { type Worker } from "node:cluster"
import { mergedMetrics } from "../../services/metrics/MetricsText.ts"

/** A worker that has not told its figures by then is left out. */
const PATIENCE_MS = 500

/** Whoever is scraped asks the primary, which asks all workers and hands on what they tell. */
const Message = Schema.Union([
  Schema.TaggedStruct("MetricsWanted", {}),
  Schema.TaggedStruct("MetricsAsked", { question: Schema.Int }),
  Schema.TaggedStruct("MetricsTold", { question: Schema.Int, text: Schema.String }),
  Schema.TaggedStruct("MetricsGathered", { text: Schema.String })
])
type Message = typeof Message.Type

const decode = Schema.decodeUnknownOption(Message)

const tell = (worker: Worker, message: Message) => {
  if (worker.isConnected()) worker.send(message, () => undefined)
}

/** One scrape that the primary works on. */
interface Question {
  readonly told: Map<string, string>
  readonly awaited: number
  readonly finish: () => void
}

const liveWorkers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected() === true)

const makeRelay = () => {
  const questions = new Map<number, Question>()
  const asked = { count: 0 }

  const ask = (requester: Worker) => {
    const question = asked.count
    asked.count += 1
    const told = new Map<string, string>()
    const finish = () => {
      if (questions.delete(question)) tell(requester, { _tag: "MetricsGathered", text: mergedMetrics(told) })
    }
    const workers = liveWorkers().filter((worker) => worker !== undefined)
    questions.set(question, { told, awaited: workers.length, finish })
    setTimeout(finish, PATIENCE_MS).unref()
    workers.forEach((worker) => tell(worker, { _tag: "MetricsAsked", question }))
  }

  return (worker: Worker, received: unknown) => {
    const message = Option.getOrUndefined(decode(received))
    if (message?._tag === "MetricsWanted") ask(worker)
    if (message?._tag !== "MetricsTold") return
    const question = questions.get(message.question)
    question?.told.set(String(worker.id), message.text)
    if (question?.told.size === question?.awaited) question?.finish()
  }
}

/** Lets the workers of this process know each other's figures. */
export const relayMetrics: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const relay = makeRelay()
    cluster.on("message", relay)
    return relay
  }),
  (relay) => Effect.sync(() => cluster.off("message", relay))
)

const telling = (question: number) => (text: string) => process.send?.({ _tag: "MetricsTold", question, text })

/** Tells the figures of this worker to whoever asks, and gives those of all workers, each with the label `worker`. */
export const gatherMetrics = (own: Effect.Effect<string>): Effect.Effect<Effect.Effect<string>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const gathered = yield* Queue.unbounded<string>()
    const context = yield* Effect.context<never>()
    const onMessage = (received: unknown) => {
      const message = Option.getOrUndefined(decode(received))
      if (message?._tag === "MetricsAsked") Effect.runForkWith(context)(Effect.map(own, telling(message.question)))
      if (message?._tag === "MetricsGathered") Queue.offerUnsafe(gathered, message.text)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("message", onMessage)),
      () => Effect.sync(() => process.off("message", onMessage))
    )
    // What came too late for one scrape is too old for the next.
    const gather = Effect.andThen(
      Queue.clear(gathered),
      Effect.sync(() => process.send?.({ _tag: "MetricsWanted" }))
    ).pipe(
      Effect.andThen(Queue.take(gathered)),
      Effect.timeoutOrElse({ duration: 2 * PATIENCE_MS, orElse: () => own })
    )
    return yield* Effect.succeed(gather)
  })
