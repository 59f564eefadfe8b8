import { parentPort, type Transferable } from "node:worker_threads"
import type { HeavyJob, Reply } from "./HeavyWork.ts"

interface Order {
  readonly name: string
  readonly input: unknown
}

const reply = (reply: Reply<unknown>, transfer: ReadonlyArray<Transferable> = []) =>
  parentPort?.postMessage(reply, transfer)

export const serveJobs = (jobs: ReadonlyArray<HeavyJob<unknown, unknown>>): void => {
  const fulfil = async ({ input, name }: Order) => {
    const job = jobs.find((job) => job.name === name)
    if (job === undefined) return reply({ error: new Error(`there is no job ${name}`) })
    const result = await job.run(input)
    reply({ result }, job.transferred?.(result))
  }
  parentPort?.on("message", (order: Order) => void fulfil(order).catch((error: unknown) => reply({ error }))).on(
    "messageerror",
    (error) => reply({ error })
  )
}
