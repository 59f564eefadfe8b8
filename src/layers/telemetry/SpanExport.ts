import { type Attributes, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base"

/**
 * What may leave the service. Everything else stays, since what is in it nobody can say for all times: paths and URLs
 * hold share tokens and keys, messages of errors hold values, headers hold credentials.
 */
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

/** The first word of a statement; of one that begins with what it uses, the change that it makes, if it makes one. */
const operationOf = (statement: string): string | undefined => {
  const [, verb] = /^\s*(\w{1,20})/.exec(statement) ?? []
  if (verb?.toUpperCase() !== "WITH") return verb?.toUpperCase()
  return /\b(INSERT|UPDATE|DELETE)\b/i.exec(statement)?.[1]?.toUpperCase() ?? "SELECT"
}

/** Of the database's address Effect knows the defaults only, whatever `DATABASE_URL` says, and all statements have one name. */
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

/** What a server's span failed of is its status: there is nothing that was thrown. */
const eventsOf = ({ events, kind }: ReadableSpan) =>
  kind === SpanKind.SERVER
    ? []
    : events
      .filter(({ name }) => name === "exception")
      .map(({ attributes, name, time }) => ({ name, time, attributes: allowed(attributes) }))

/** Success is for applications to say, not for what observes them (OpenTelemetry, Set Status). */
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

/**
 * Passes spans on without what is not allowed, those of statements with what is known of the database. How many were taken,
 * or not, is reported to `onExport` alone: the SDK would make an error of it, at the end of the process.
 */
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
