import { defineConfig } from "vitest/config"

/** Files that read what a process has one of: its metrics, logs, environment, processor time and heap. */
const ALONE = [
  "process/application",
  "services/archive.heavy",
  "services/engine",
  "services/erasure",
  "services/files.hostile",
  "services/heavyWork",
  "http/bulkheads",
  "http/faults",
  "http/heavy",
  "http/hostile",
  "http/import",
  "http/import.bounds",
  "http/import.heavy",
  "http/import.hostile",
  "http/longBodies",
  "http/longLists",
  "http/metrics",
  "http/parser",
  "http/poison",
  "http/routing",
  "http/slowClients",
  "process/logs",
  "services/mailer",
  "services/outbox",
  "process/overload",
  "services/passwords",
  "process/hostile",
  "process/settings",
  "services/simplification",
  "process/telemetry",
  "process/workers"
].map((name) => `test/${name}.test.ts`)

export default defineConfig({
  test: {
    globalSetup: ["test/support/Postgres.ts"],
    pool: "forks",
    // Many tests wait, for a clock or another process: beside each other they wait at once.
    maxWorkers: 2,
    // What the service logs is of interest where a test has failed.
    silent: "passed-only",
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "alone", include: ALONE } },
      {
        extends: true,
        // Loading Effect and the service anew for each file took a fifth of the run.
        test: {
          name: "together",
          include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: ALONE,
          isolate: false
        }
      }
    ]
  }
})
