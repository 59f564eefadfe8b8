import { threadId } from "node:worker_threads"
import { HeavyJob } from "../../src/services/admission/HeavyJob.ts"

/** The jobs of this file do what no job should. */
export const lengthOf = new HeavyJob<Uint8Array, number>(import.meta.url, {
  name: "length",
  run: (bytes) => bytes.length
})

export const lengthOfBody = new HeavyJob<Uint8Array, number>(import.meta.url, {
  name: "length of a body",
  share: "bodies",
  run: (bytes) => bytes.length
})

/** Returns the thread that it runs in. */
export const thread = new HeavyJob<null, number>(import.meta.url, { name: "thread", run: () => threadId })

export const throwError = new HeavyJob<string, never>(import.meta.url, {
  name: "throw",
  run: (message) => {
    throw new Error(message)
  }
})

/** Returns the names of the variables in the environment of the thread. */
export const environment = new HeavyJob<null, ReadonlyArray<string>>(import.meta.url, {
  name: "environment",
  run: () => Object.keys(process.env)
})

export const spin = new HeavyJob<null, never>(import.meta.url, {
  name: "spin",
  run: () => {
    for (;;);
  }
})

/** Works for this many milliseconds of the thread's own time. */
export const work = new HeavyJob<number, number>(import.meta.url, {
  name: "work",
  run: (milliseconds) => {
    const end = performance.now() + milliseconds
    while (performance.now() < end);
    return milliseconds
  }
})

/** Ends once the first number of a shared array is not 0. */
export const heldFile = new HeavyJob<Int32Array<SharedArrayBuffer>, null>(import.meta.url, {
  name: "held file",
  share: "files",
  run: (gate) => {
    Atomics.wait(gate, 0, 0)
    return null
  }
})

export const eat = new HeavyJob<null, never>(import.meta.url, {
  name: "eat",
  run: () => {
    const eaten: Array<Array<number>> = []
    for (;;) eaten.push(Array.from({ length: 100_000 }, (_, index) => index + eaten.length / 3))
  }
})

export const crash = new HeavyJob<null, never>(import.meta.url, { name: "crash", run: () => process.exit(3) })

/** Returns more levels than the receiving thread can read, whose stack is shorter than the sender's. */
export const nest = new HeavyJob<number, unknown>(import.meta.url, {
  name: "nest",
  run: (levels) => Array.from({ length: levels }).reduce<ReadonlyArray<unknown>>((inner) => [inner], [])
})

export const echo = new HeavyJob<unknown, unknown>(import.meta.url, { name: "echo", run: (value) => value })
