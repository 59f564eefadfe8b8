import { Agent, request } from "node:http"
import { setTimeout } from "node:timers/promises"

/** A request that is sent again and again. */
export interface Call {
  readonly url: string
  readonly method?: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** A response, or 0 as the status where the connection failed, with the milliseconds it took to its last byte. */
export interface Outcome {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly milliseconds: number
}

export const ask = (agent: Agent, { body, headers = {}, method = "GET", url }: Call, since = performance.now()) =>
  new Promise<Outcome>((resolve) => {
    const end = (status: number, retryAfter?: string) =>
      resolve({ status, retryAfter, milliseconds: performance.now() - since })
    request(url, { agent, method, headers }, (response) => {
      response.resume()
        .on("error", () => end(0))
        .on("end", () => end(response.statusCode ?? 0, response.headers["retry-after"]))
    }).on("error", () => end(0)).end(body)
  })

/** Opens all connections before the load begins, so that it does not measure what that takes. */
export const connected = async ({ origin }: URL, connections: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections })
  await Promise.all(Array.from({ length: connections }, () => ask(agent, { url: `${origin}/health/live` })))
  return agent
}

interface Pace {
  readonly rate: number
  readonly seconds: number
  readonly signal?: AbortSignal | undefined
}

/** Clients with a connection each, that take turns at the calls. A call is timed from when it is sent. */
const loop = async (calls: ReadonlyArray<Call>, clients: number, { rate, seconds, signal }: Pace) => {
  const agent = await connected(new URL(calls[0]?.url ?? ""), clients)
  const outcomes: Array<Outcome> = []
  const started = performance.now()
  const until = started + seconds * 1000
  const sent = { count: 0 }
  const isOver = () => performance.now() >= until || signal?.aborted === true
  const client = async () => {
    while (!isOver()) {
      const turn = sent.count++
      const wait = started + turn * 1000 / rate - performance.now()
      if (wait > 0) await setTimeout(wait)
      const call = calls[turn % calls.length]
      if (call !== undefined) outcomes.push(await ask(agent, call))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
  return outcomes
}

/** Each client sends the next call as soon as it has the response to the one before, until aborted. */
export const closedLoop = (calls: ReadonlyArray<Call>, clients: number, seconds: number, signal?: AbortSignal) =>
  loop(calls, clients, { rate: Infinity, seconds, signal })

/** So many calls a second, evenly spaced, or fewer while each client waits for a response. */
export const openLoop = (calls: ReadonlyArray<Call>, rate: number, clients: number, seconds: number) =>
  loop(calls, clients, { rate, seconds })
