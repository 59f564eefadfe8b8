import { defineConfig } from "vitest/config"
import { COMPILE_CACHE } from "./test/support/CompileCache.ts"

Object.assign(process.env, COMPILE_CACHE)

export default defineConfig({
  test: {
    globalSetup: ["test/support/Postgres.ts"],
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    pool: "forks",
    // The files of a fork run one after another, and a new fork for each would load Effect and the service again: 3 seconds.
    isolate: false,
    // Many tests wait, for a clock or another process: beside each other they wait at once.
    maxWorkers: 3,
    // What the service logs is of interest where a test has failed.
    silent: "passed-only",
    // Some tests compare processor times, to which the work of other processes adds; the tries are printed.
    retry: process.env["CI"] === "true" ? 2 : 0,
    testTimeout: 20_000,
    hookTimeout: 60_000
  }
})
