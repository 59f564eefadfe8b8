import { availableParallelism } from "node:os"

const DEFAULT_THREADS = 4

/** For files, names and standard output beside the hashing of passwords, which takes a thread for each core. */
const OTHER_THREADS = 2

/**
 * Sets how many threads libuv has, unless the environment does. It counts as long as none was needed yet: to be called
 * before all other work of the process.
 */
export const sizeThreadPool = (): void => {
  process.env["UV_THREADPOOL_SIZE"] ??= String(Math.max(DEFAULT_THREADS, availableParallelism() + OTHER_THREADS))
}
