import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { type Duration, Effect, Fiber, Latch, Redacted } from "effect"
import { HttpClientRequest } from "effect/http"
import type { OtlpResource, OtlpTracer } from "effect/observability"
import { requestText } from "../../services/operations/Upstream.ts"
import type { OtlpSpan } from "./SpanExport.ts"

/** A batch with this many spans is sent at once. */
const FULL_BATCH = 512

const MAX_BATCH_BYTES = 2 * 1024 * 1024

const EXPORT_INTERVAL = "5 seconds"

const EXPORT_TIMEOUT = "10 seconds"

const SHUTDOWN_TIMEOUT = "2 seconds"

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024

const END = "]}]}]}"

const MOST_BYTES_OF_CHARACTER = 3

/** The memory of the encoded spans is used again: V8's threads take long to collect strings of half a MiB. */
export class SpanBatch {
  readonly start: number
  readonly memory = Buffer.allocUnsafeSlow(MAX_BATCH_BYTES)
  length: number
  count = 0
  dropped = 0

  constructor(resource: OtlpResource.Resource) {
    const empty: OtlpTracer.TraceData = {
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "effect" }, spans: [] }] }]
    }
    this.start = this.memory.write(JSON.stringify(empty).slice(0, -END.length))
    this.length = this.start
  }

  add(span: OtlpSpan) {
    const text = `${this.count === 0 ? "" : ","}${JSON.stringify(span)}`
    if (this.length + MOST_BYTES_OF_CHARACTER * text.length + END.length > MAX_BATCH_BYTES) {
      this.dropped += 1
      return
    }
    this.length += this.memory.write(text, this.length)
    this.count += 1
  }

  /** Returns the body of a request, which is valid until the batch is cleared. */
  data(): Uint8Array {
    return this.memory.subarray(0, this.length + this.memory.write(END, this.length))
  }

  clear() {
    this.length = this.start
    this.count = 0
    this.dropped = 0
  }
}

/** Returns a function that sends a batch, and returns true if the collector took the batch in time. */
export const collectorRequest = Effect.fnUntraced(function*(
  { headers, url }: { readonly url: URL; readonly headers: Redacted.Redacted<Readonly<Record<string, string>>> },
  timeout: Duration.Input = EXPORT_TIMEOUT
) {
  const agent = yield* NodeHttpClient.makeAgent({ keepAlive: true, maxFreeSockets: 1 })
  const client = yield* Effect.provideService(NodeHttpClient.makeNodeHttp, NodeHttpClient.HttpAgent, agent)
  const post = HttpClientRequest.setHeaders(HttpClientRequest.post(url), Redacted.value(headers))
  const upstream = { name: "collector", timeout, maxBytes: MAX_RESPONSE_BYTES }
  return (batch: SpanBatch): Effect.Effect<boolean> => {
    const request = HttpClientRequest.bodyUint8Array(post, batch.data(), "application/json")
    return requestText(client, request, upstream).pipe(
      Effect.map(({ status }) => status < 300),
      Effect.catch(() => Effect.succeed(false)),
      Effect.withTracerEnabled(false)
    )
  }
})

/**
 * Exports spans in two batches: one is sent while the other fills, and the rest when the scope closes. Effect's
 * exporter has no timeout, keeps all spans for a collector that hangs, and drops all for a minute after a failure.
 */
export const makeSpanQueue = Effect.fnUntraced(function*(
  resource: OtlpResource.Resource,
  send: (batch: SpanBatch) => Effect.Effect<boolean>,
  record: (spans: number, isTaken: boolean) => Effect.Effect<void>
) {
  const due = yield* Latch.make()
  const state = { filled: new SpanBatch(resource), sent: new SpanBatch(resource), isEnding: false }

  const sendFilled = Effect.gen(function*() {
    const batch = state.filled
    state.filled = state.sent
    state.sent = batch
    due.closeUnsafe()
    if (batch.count > 0) yield* record(batch.count, yield* send(batch))
    if (batch.dropped > 0) yield* record(batch.dropped, false)
    batch.clear()
  })

  const sending = yield* Effect.timeoutOption(due.await, EXPORT_INTERVAL).pipe(
    Effect.andThen(sendFilled),
    Effect.repeat({ while: () => !state.isEnding }),
    Effect.andThen(sendFilled),
    Effect.forkDetach
  )
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      state.isEnding = true
      due.openUnsafe()
      return Fiber.join(sending)
    }).pipe(
      Effect.interruptible,
      Effect.timeoutOption(SHUTDOWN_TIMEOUT),
      Effect.andThen(Fiber.interrupt(sending))
    )
  )
  return (span: OtlpSpan) => {
    state.filled.add(span)
    if (state.filled.count >= FULL_BATCH) due.openUnsafe()
  }
})
