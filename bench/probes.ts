import { parentPort } from "node:worker_threads"
import { ask, connected, type Outcome } from "./load.ts"

const INTERVAL = 50
const CONNECTIONS = 16

// The thread reads some URLs until it gets a message, and replies with the outcomes of each.
const urls = process.argv.slice(2)
const agent = await connected(new URL(urls[0] ?? ""), urls.length * CONNECTIONS)
const outcomes = urls.map((): Array<Promise<Outcome>> => [])
const timer = setInterval(() => outcomes.forEach((all, n) => all.push(ask(agent, { url: urls[n] ?? "" }))), INTERVAL)
parentPort?.once("message", async () => {
  clearInterval(timer)
  parentPort?.postMessage(await Promise.all(outcomes.map((all) => Promise.all(all))), [])
  agent.destroy()
})
parentPort?.postMessage("ready", [])
