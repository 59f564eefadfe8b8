import { Context, Effect, Layer, Schema } from "effect"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { HTTP_FAULTS, type HttpFault } from "./HttpFaults.ts"
import { listening } from "./Listening.ts"

const Value = Schema.Struct({
  stringValue: Schema.optionalKey(Schema.String),
  intValue: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.String])),
  doubleValue: Schema.optionalKey(Schema.Finite),
  boolValue: Schema.optionalKey(Schema.Boolean)
})

const Attributes = Schema.Array(Schema.Struct({ key: Schema.String, value: Value }))

const Span = Schema.Struct({
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  name: Schema.String,
  kind: Schema.Int,
  attributes: Attributes,
  status: Schema.Struct({ code: Schema.Int, message: Schema.optionalKey(Schema.String) }),
  events: Schema.Array(Schema.Struct({ name: Schema.String })),
  links: Schema.optionalKey(Schema.Array(Schema.Struct({ traceId: Schema.String, spanId: Schema.String })))
})

/** `attributes` has the values by name. */
export interface ExportedSpan extends Omit<typeof Span.Type, "attributes"> {
  readonly attributes: Readonly<Record<string, unknown>>
}

/** OTLP sends traces as JSON in this form. */
const Exported = Schema.fromJsonString(Schema.Struct({
  resourceSpans: Schema.Array(Schema.Struct({
    resource: Schema.Struct({ attributes: Attributes }),
    scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) }))
  }))
}))

const byName = (attributes: typeof Attributes.Type) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

interface Recorded {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

type Mode = "take" | "fail" | HttpFault

/** This HTTP server records all requests, and takes traces, fails or misbehaves. */
export class Collector extends Context.Service<Collector, {
  readonly url: string
  readonly requests: ReadonlyArray<Recorded>
  /** Returns how many connections are open. */
  readonly connections: Effect.Effect<number>
  readonly become: (mode: Mode) => Effect.Effect<void>
  /** Ends requests that hang, and takes traces again. */
  readonly recover: Effect.Effect<void>
  readonly spans: Effect.Effect<ReadonlyArray<ExportedSpan>>
  /** The attributes describe the sender of the spans. */
  readonly resource: Effect.Effect<Readonly<Record<string, unknown>>>
}>()("test/Collector") {
  static readonly layer = Layer.effect(
    Collector,
    Effect.gen(function*() {
      const requests: Array<Recorded> = []
      const state: { mode: Mode } = { mode: "take" }
      const answer = async (request: IncomingMessage, response: ServerResponse) => {
        requests.push({ path: request.url ?? "", headers: request.headers, body: await text(request) })
        if (state.mode !== "take" && state.mode !== "fail") {
          HTTP_FAULTS[state.mode](request, response)
          return
        }
        response.writeHead(state.mode === "fail" ? 500 : 200, { "content-type": "application/json" }).end("{}")
      }
      const server = createServer((request, response) => void answer(request, response).catch(() => undefined))
      const port = yield* listening(server)
      const exported = Effect.sync(() =>
        requests.filter(({ path }) => path === "/v1/traces").flatMap(({ body }) =>
          Schema.decodeSync(Exported)(body).resourceSpans
        )
      )
      return Collector.of({
        url: `http://127.0.0.1:${port}`,
        requests,
        connections: Effect.callback((resume) =>
          void server.getConnections((_, count) => resume(Effect.succeed(count)))
        ),
        become: (mode) => Effect.sync(() => void (state.mode = mode)),
        recover: Effect.sync(() => {
          state.mode = "take"
          server.closeAllConnections()
        }),
        spans: Effect.map(
          exported,
          (resources) =>
            resources.flatMap(({ scopeSpans }) =>
              scopeSpans.flatMap(({ spans }) =>
                spans.map((span) => Object.assign({}, span, { attributes: byName(span.attributes) }))
              )
            )
        ),
        resource: Effect.map(exported, (resources) => byName(resources[0]?.resource.attributes ?? []))
      })
    })
  )
}
