import { Schema } from "effect"
import { parentPort, workerData } from "node:worker_threads"
import { ask, connected, type Outcome } from "./load.ts"

const Target = Schema.Struct({ origin: Schema.String, paths: Schema.Array(Schema.String) })

/** A thread that reads the health of a service until it gets a message, and replies with the outcomes of each path. */
const { origin, paths } = Schema.decodeUnknownSync(Target)(workerData)

const INTERVAL = 50
const CONNECTIONS = 16

const probing = async (path: string) => {
  const agent = await connected(new URL(origin), CONNECTIONS)
  const probes: Array<Promise<Outcome>> = []
  const timer = setInterval(() => probes.push(ask(agent, { url: `${origin}${path}` })), INTERVAL)
  return async () => {
    clearInterval(timer)
    const outcomes = await Promise.all(probes)
    agent.destroy()
    return outcomes
  }
}

const ends = await Promise.all(paths.map(probing))
parentPort?.once("message", async () => {
  parentPort?.postMessage(await Promise.all(ends.map((end) => end())), [])
})
parentPort?.postMessage("ready", [])
