import type { HeavyJob } from "../../src/services/heavy/HeavyWork.ts"
import { serveJobs } from "../../src/services/heavy/ServeJobs.ts"

/** Jobs that do what no job should. */
export const lengthOf: HeavyJob<Uint8Array, number> = { name: "length", run: (bytes) => bytes.length }

export const throwError: HeavyJob<string, never> = {
  name: "throw",
  run: (message) => {
    throw new Error(message)
  }
}

/** Names of the variables that a thread has in its environment. */
export const environment: HeavyJob<null, ReadonlyArray<string>> = {
  name: "environment",
  run: () => Object.keys(process.env)
}

export const spin: HeavyJob<null, never> = {
  name: "spin",
  run: () => {
    for (;;);
  }
}

/** Works for so long of the thread's own time. */
export const work: HeavyJob<number, number> = {
  name: "work",
  run: (milliseconds) => {
    const end = performance.now() + milliseconds
    while (performance.now() < end);
    return milliseconds
  }
}

export const eat: HeavyJob<null, never> = {
  name: "eat",
  run: () => {
    const eaten: Array<Array<number>> = []
    for (;;) eaten.push(Array.from({ length: 100_000 }, (_, index) => index + eaten.length / 3))
  }
}

export const crash: HeavyJob<null, never> = { name: "crash", run: () => process.exit(3) }

/** More levels than the receiving thread can read, whose stack is shorter than that of the sender. */
export const nest: HeavyJob<number, unknown> = {
  name: "nest",
  run: (levels) => Array.from({ length: levels }).reduce<ReadonlyArray<unknown>>((inner) => [inner], [])
}

export const echo: HeavyJob<unknown, unknown> = { name: "echo", run: (value) => value }

serveJobs([lengthOf, throwError, environment, spin, work, eat, crash, nest, echo])
