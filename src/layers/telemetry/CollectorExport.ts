import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import type { SpanExporter } from "@opentelemetry/sdk-trace-base"
import { Redacted } from "effect"
import { Agent } from "node:http"
import { Agent as TlsAgent } from "node:https"
import type { TraceSettings } from "./TraceSettings.ts"

export const EXPORT_TIMEOUT_MS = 10_000

/**
 * Exports spans to the collector, each batch within the time given. The timeout of OpenTelemetry's exporter is of a
 * connection on which nothing moves: a response that comes byte by byte would keep its connection, and one of the 30 places
 * for exports, until the end of the process.
 */
export const collectorExporter = (
  { headers, url }: Pick<TraceSettings, "headers" | "url">,
  timeoutMillis = EXPORT_TIMEOUT_MS
): SpanExporter => {
  // The exporter reads this one by itself too, in a format that a JSON object is not.
  delete process.env["OTEL_EXPORTER_OTLP_HEADERS"]
  const options = { keepAlive: true, maxFreeSockets: 1 }
  const agent = url.protocol === "https:" ? new TlsAgent(options) : new Agent(options)
  const exporter = new OTLPTraceExporter({
    url: url.href,
    headers: { ...Redacted.value(headers) },
    timeoutMillis,
    httpAgentOptions: () => agent
  })
  return {
    export: (spans, done) => {
      // Batches are exported one after the other: a connection that is open now is overdue.
      const overdue = setTimeout(() => agent.destroy(), timeoutMillis)
      exporter.export(spans, (result) => {
        clearTimeout(overdue)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush()
  }
}
