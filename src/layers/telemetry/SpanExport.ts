import type { Attributes } from "@opentelemetry/api"
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
  "server.port"
])

/** Of the database's address Effect knows the defaults only, whatever `DATABASE_URL` says. */
const isWrong = (name: string, attributes: Attributes) => name.startsWith("server.") && "db.system.name" in attributes

const allowed = (attributes: Attributes = {}): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).filter(([name]) => ALLOWED.has(name) && !isWrong(name, attributes))
  )

/** Effect gives all statements one name. */
const nameOf = ({ attributes, name }: ReadableSpan) => {
  const verb = /^\s*(\w{1,20})/.exec(String(attributes["db.query.text"] ?? ""))?.[1]
  return verb === undefined ? name : `${verb.toUpperCase()} postgresql`
}

const redacted = (span: ReadableSpan): ReadableSpan => ({
  name: nameOf(span),
  kind: span.kind,
  spanContext: () => span.spanContext(),
  ...(span.parentSpanContext === undefined ? {} : { parentSpanContext: span.parentSpanContext }),
  startTime: span.startTime,
  endTime: span.endTime,
  duration: span.duration,
  ended: span.ended,
  status: { code: span.status.code },
  attributes: allowed(span.attributes),
  droppedAttributesCount: span.droppedAttributesCount,
  events: span.events
    .filter(({ name }) => name === "exception")
    .map(({ attributes, name, time }) => ({ name, time, attributes: allowed(attributes) })),
  droppedEventsCount: span.droppedEventsCount,
  links: span.links.map(({ context }) => ({ context })),
  droppedLinksCount: span.droppedLinksCount,
  resource: span.resource,
  instrumentationScope: span.instrumentationScope
})

/**
 * Passes spans on without what is not allowed. That they were not taken is told to `onRefused` alone: the SDK would
 * make an error of it, at the end of the process.
 */
export const redacting = (exporter: SpanExporter, onRefused: () => void): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans.map(redacted), ({ code }) => {
      if (code !== 0) onRefused()
      done({ code: 0 })
    }),
  shutdown: () => exporter.shutdown(),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve()
})
