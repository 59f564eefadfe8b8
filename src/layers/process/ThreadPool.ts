import { availableParallelism } from "node:os"

const DEFAULT_THREADS = 4

/** For files, names and standard output beside password hashing, which uses a thread for each core. */
const OTHER_THREADS = 2

/** Sets the threads of libuv, unless the environment does. Call it before any work that needs one. */
export const sizeThreadPool = (): void => {
  process.env["UV_THREADPOOL_SIZE"] ??= String(Math.max(DEFAULT_THREADS, availableParallelism() + OTHER_THREADS))
}
