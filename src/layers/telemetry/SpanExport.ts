import { type Attributes, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base"

/** An allow list: paths and URLs contain share tokens and keys, error messages values, headers credentials. */
const ALLOWED = new Set([
  "db.client.connection.wait_time_ms",
  "db.query.text",
  "db.system.name",
  "effect.fiber.interrupted",
  "error.type",
  "exception.type",
  "http.request.method",
  "http.response.status_code",
  "http.route",
  "server.address",
  "server.port",
  "url.scheme"
])

const allowed = (attributes: Attributes = {}): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => ALLOWED.has(name)))

const operationOf = (statement: string): string | undefined => {
  const [, verb] = /^\s*(\w{1,20})/.exec(statement) ?? []
  if (verb?.toUpperCase() !== "WITH") return verb?.toUpperCase()
  return /\b(INSERT|UPDATE|DELETE)\b/i.exec(statement)?.[1]?.toUpperCase() ?? "SELECT"
}

/** Effect names all statements alike and knows only the default address of a database. */
const asStatement = (span: ReadableSpan, database: Attributes) => {
  const operation = operationOf(String(span.attributes["db.query.text"] ?? ""))
  const { "server.address": _address, "server.port": _port, ...attributes } = allowed(span.attributes)
  return {
    name: [operation, database["db.namespace"]].filter((part) => part !== undefined).join(" ") || span.name,
    attributes: {
      ...attributes,
      ...database,
      ...(operation === undefined ? {} : { "db.operation.name": operation })
    }
  }
}

const eventsOf = ({ events, kind }: ReadableSpan) =>
  kind === SpanKind.SERVER
    ? []
    : events
      .filter(({ name }) => name === "exception")
      .map(({ attributes, name, time }) => ({ name, time, attributes: allowed(attributes) }))

/** OpenTelemetry (Set Status): only the application sets OK. */
const statusOf = ({ status }: ReadableSpan) => ({
  code: status.code === SpanStatusCode.ERROR ? SpanStatusCode.ERROR : SpanStatusCode.UNSET
})

const redacted = (database: Attributes) => (span: ReadableSpan): ReadableSpan => ({
  ...("db.system.name" in span.attributes
    ? asStatement(span, database)
    : { name: span.name, attributes: allowed(span.attributes) }),
  kind: span.kind,
  spanContext: () => span.spanContext(),
  ...(span.parentSpanContext === undefined ? {} : { parentSpanContext: span.parentSpanContext }),
  startTime: span.startTime,
  endTime: span.endTime,
  duration: span.duration,
  ended: span.ended,
  status: statusOf(span),
  droppedAttributesCount: span.droppedAttributesCount,
  events: eventsOf(span),
  droppedEventsCount: span.droppedEventsCount,
  links: span.links.map(({ context }) => ({ context })),
  droppedLinksCount: span.droppedLinksCount,
  resource: span.resource,
  instrumentationScope: span.instrumentationScope
})

/** Results go to `onExport` only: the SDK would fail with them as the process ends. */
export const redacting = (
  exporter: SpanExporter,
  database: Attributes,
  onExport: (spans: number, isTaken: boolean) => void
): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans.map(redacted(database)), ({ code }) => {
      onExport(spans.length, code === 0)
      done({ code: 0 })
    }),
  shutdown: () => exporter.shutdown(),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve()
})
