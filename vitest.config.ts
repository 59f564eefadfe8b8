import { defineConfig } from "vitest/config"
import { COMPILE_CACHE } from "./test/support/CompileCache.ts"
import { ProcessesFirst } from "./test/support/ProcessesFirst.ts"

Object.assign(process.env, COMPILE_CACHE)

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    globalSetup: ["test/support/Postgres.ts"],
    pool: "forks",
    // Many tests wait, for a clock or another process: beside each other they wait at once.
    maxWorkers: 3,
    // On two busy cores the threads that collect garbage beside a fork only wait for each other, and a young generation that
    // starts small is collected again and again: together a fifth of the processor time of a fork.
    execArgv: ["--single-threaded-gc", "--min-semi-space-size=16"],
    // The files of a fork run one after another, and a new fork for each would load Effect and the service again: 3 seconds.
    isolate: false,
    // Node runs the service as it is: a module runner would load and compile it again in each worker.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: "test/support/CompiledSchemas.ts",
    // What the service logs is of interest where a test has failed.
    silent: "passed-only",
    sequence: { sequencer: ProcessesFirst },
    // No test is to be faster: beside other work on the same two cores a test takes ten times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000
  }
})
