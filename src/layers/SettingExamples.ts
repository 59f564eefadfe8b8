/** An example of a valid value for each setting that can be malformed; error messages quote it. */
const EXAMPLES: ReadonlyMap<string, string> = new Map([
  ["ADMIN_EMAILS", "ada@example.com,grace@example.com"],
  ["API_DOCS_ENABLED", "true"],
  ["APP_URL", "https://app.example.com"],
  ["BASE_URL", "https://routes.example.com"],
  ["BODY_MEMORY_BUDGET", "128 MiB"],
  ["CORS_ORIGINS", "https://app.example.com"],
  ["DATABASE_POOL_SIZE", "10"],
  ["DATABASE_QUEUE_LENGTH", "256"],
  ["DATABASE_QUEUE_TIMEOUT", "2 seconds"],
  ["DATABASE_URL", "postgres://user:password@localhost:5432/routes"],
  ["DATABASE_WAIT", "60 seconds"],
  ["EMAIL_API_URL", "https://api.resend.com/emails"],
  ["EMAIL_FROM", "no-reply@example.com"],
  ["ENGINE_PORT", "8002"],
  ["ERASURE_SWEEP_INTERVAL", "1 hour"],
  ["GOOGLE_ISSUER", "https://accounts.google.com"],
  ["GRAFANA_URLS", `{"apiOverview":"https://grafana.example.com/d/overview"}`],
  ["IMPORT_DISK_BUDGET", "2 GiB"],
  ["MAX_COLLECTIONS_PER_USER", "1000"],
  ["MAX_ROUTES_PER_USER", "10000"],
  ["MAX_RUNNING_REQUESTS", "256"],
  ["MAX_STORED_BYTES_PER_USER", "1 GiB"],
  ["METRICS_ALLOWED_CIDRS", "10.0.0.0/8,127.0.0.0/8"],
  ["METRICS_ENABLED", "true"],
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"],
  ["OTEL_EXPORTER_OTLP_HEADERS", `{"authorization":"Bearer key"}`],
  ["OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"],
  ["OTEL_TRACES_SAMPLER", "parentbased_traceidratio"],
  ["OTEL_TRACES_SAMPLER_ARG", "0.1"],
  ["OUTBOX_POLL_INTERVAL", "5 seconds"],
  ["PAGES_ENABLED", "true"],
  ["PASSWORD_MIN_STRENGTH", "3"],
  ["PORT", "3000"],
  ["PROVIDER_SIGN_IN_ENABLED", "true"],
  ["PURGE_SWEEP_INTERVAL", "1 hour"],
  ["RATE_LIMITS_ENABLED", "true"],
  ["REDIS_URL", "redis://localhost:6379"],
  ["ROUTING_ENGINE_TIMEOUT", "10 seconds"],
  ["ROUTING_ENGINE_URL", "http://localhost:8002"],
  ["SHUTDOWN_DRAIN_DELAY", "3 seconds"],
  ["SIGNUP_ENABLED", "true"],
  ["SMTP_URL", "smtp://user:password@mail.example.com:587"],
  ["TELEMETRY_ENABLED", "true"],
  ["TRUSTED_PROXIES", "10.0.0.0/8"],
  ["WORKERS", "2"]
])

/** Appends the example of a setting to a complaint about it. */
export const withExample = (path: string, complaint: string): string => {
  // An entry of a list has the path `CORS_ORIGINS.0`.
  const [name = path] = path.split(".")
  const example = EXAMPLES.get(name)
  return example === undefined ? complaint : `${complaint} (for example ${name}=${example})`
}
