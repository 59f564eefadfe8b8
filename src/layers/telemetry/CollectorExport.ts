import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Cause, type Duration, Effect, Fiber, Queue, Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import type { OtlpResource, OtlpTracer } from "effect/observability"
import { requestText } from "../../services/operations/Upstream.ts"
import type { OtlpSpan } from "./SpanExport.ts"
import type { TraceSettings } from "./TraceSettings.ts"

const MAX_BATCH = 512

const MAX_PENDING = 2048

const EXPORT_INTERVAL = "5 seconds"

const EXPORT_TIMEOUT = "10 seconds"

const SHUTDOWN_TIMEOUT = "2 seconds"

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024

/** Sends one batch to the collector: true if it took the batch in time. */
export const collectorRequest = Effect.fnUntraced(function*(
  { headers, resource, url }: Pick<TraceSettings, "headers" | "url"> & { readonly resource: OtlpResource.Resource },
  timeout: Duration.Input = EXPORT_TIMEOUT
) {
  const agent = yield* NodeHttpClient.makeAgent({ keepAlive: true, maxFreeSockets: 1 })
  const client = yield* Effect.provideService(NodeHttpClient.makeNodeHttp, NodeHttpClient.HttpAgent, agent)
  const post = HttpClientRequest.setHeaders(HttpClientRequest.post(url), Redacted.value(headers))
  const upstream = { name: "collector", timeout, maxBytes: MAX_RESPONSE_BYTES }
  return (spans: Array<OtlpSpan>): Effect.Effect<boolean> => {
    const data: OtlpTracer.TraceData = {
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "effect" }, spans }] }]
    }
    const request = HttpClientRequest.bodyText(post, JSON.stringify(data), "application/json")
    return requestText(client, request, upstream).pipe(
      Effect.map(({ status }) => status < 300),
      Effect.catch(() => Effect.succeed(false)),
      Effect.withTracerEnabled(false)
    )
  }
})

/**
 * Exports spans in batches, one after the other. Effect's own exporter has neither a timeout nor a bound of what it keeps for
 * a collector that hangs, and drops everything for a minute after a failure. What is left is sent when the scope closes.
 */
export const makeSpanQueue = Effect.fnUntraced(function*(
  send: (spans: Array<OtlpSpan>) => Effect.Effect<boolean>,
  record: (spans: number, isTaken: boolean) => Effect.Effect<void>
) {
  const queue = yield* Queue.dropping<OtlpSpan, Cause.Done>(MAX_PENDING)
  const dropped = { count: 0 }
  const recordDropped = Effect.suspend(() => {
    const { count } = dropped
    dropped.count = 0
    return count === 0 ? Effect.void : record(count, false)
  })
  const filled = Effect.timeoutOrElse(Queue.takeN(queue, MAX_BATCH), {
    duration: EXPORT_INTERVAL,
    orElse: () => Queue.takeBetween(queue, 1, MAX_BATCH)
  })
  const batch = Effect.andThen(Queue.peek(queue), filled)
  const sending = yield* batch.pipe(
    Effect.flatMap((spans) => Effect.flatMap(send(spans), (isTaken) => record(spans.length, isTaken))),
    Effect.andThen(recordDropped),
    Effect.forever,
    Effect.ignore,
    Effect.forkDetach
  )
  yield* Effect.addFinalizer(() =>
    Queue.end(queue).pipe(
      Effect.andThen(Fiber.join(sending)),
      Effect.interruptible,
      Effect.timeoutOption(SHUTDOWN_TIMEOUT),
      Effect.andThen(Fiber.interrupt(sending))
    )
  )
  return (span: OtlpSpan) => {
    if (!Queue.offerUnsafe(queue, span)) dropped.count++
  }
})
