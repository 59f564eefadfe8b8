import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import type { SpanExporter } from "@opentelemetry/sdk-trace-base"
import { Redacted } from "effect"
import { Agent } from "node:http"
import { Agent as TlsAgent } from "node:https"
import type { TraceSettings } from "./TraceSettings.ts"

export const EXPORT_TIMEOUT_MS = 10_000

/**
 * The timeout limits a whole batch. The one of OpenTelemetry's exporter is of silence on a connection: a collector that
 * sends byte by byte would occupy one of its 30 exports until the process ends.
 */
export const collectorExporter = (
  { headers, url }: Pick<TraceSettings, "headers" | "url">,
  timeoutMillis = EXPORT_TIMEOUT_MS
): SpanExporter => {
  // The exporter reads this variable itself, and not as JSON.
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
      // Batches are exported one after the other, so an open connection is overdue.
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
