import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    globalSetup: ["test/support/Postgres.ts"],
    pool: "forks",
    // Many tests wait, for a clock or another process: beside each other they wait at once.
    maxWorkers: 2,
    // What the service logs is of interest where a test has failed.
    silent: "passed-only",
    testTimeout: 20_000,
    hookTimeout: 60_000
  }
})
