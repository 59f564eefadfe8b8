import { parentPort } from "node:worker_threads"
import type { HeavyJob, Reply } from "./HeavyWork.ts"

interface Order {
  readonly name: string
  readonly input: unknown
}

/** Does in this thread what `HeavyWork` asks for, one job after the other. */
export const serveJobs = (jobs: ReadonlyArray<HeavyJob<unknown, unknown>>): void => {
  const replyTo = ({ input, name }: Order): Reply<unknown> => {
    const job = jobs.find((job) => job.name === name)
    return job === undefined ? { error: new Error(`there is no job ${name}`) } : { result: job.run(input) }
  }
  parentPort?.on("message", (order: Order) => {
    try {
      parentPort?.postMessage(replyTo(order), [])
    } catch (error) {
      parentPort?.postMessage({ error }, [])
    }
  }).on("messageerror", (error) => parentPort?.postMessage({ error }, []))
}
