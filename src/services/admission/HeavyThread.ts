import "effect/schema/SchemaJITCompiler/enable"
import { parentPort, type Transferable } from "node:worker_threads"
import { HeavyJob, type Order, type Reply } from "./HeavyJob.ts"

const reply = (reply: Reply<unknown>, transfer: ReadonlyArray<Transferable> = []) =>
  parentPort?.postMessage(reply, transfer)

const fulfil = async (order: Order) => {
  const job = await HeavyJob.load(order)
  const result = await job.run(order.input)
  reply({ result }, job.transferred(result))
}

parentPort
  ?.on("message", (order: Order) => void fulfil(order).catch((error: unknown) => reply({ error })))
  .on("messageerror", (error) => reply({ error }))
