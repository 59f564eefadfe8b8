import { Schema } from "effect"
import { Agent, request } from "node:http"
import { setTimeout } from "node:timers/promises"

/** A request that is sent again and again. */
export interface Call {
  readonly url: string
  readonly method?: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** The status of a response, or 0 if the connection failed, with the milliseconds to its last byte. */
export const Outcome = Schema.Struct({
  status: Schema.Finite,
  retryAfter: Schema.UndefinedOr(Schema.String),
  milliseconds: Schema.Finite
})

export type Outcome = typeof Outcome.Type

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

/** Opens all connections before the load begins, so that the time to open them is not measured. */
export const connected = async ({ origin }: URL, connections: number) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections })
  await Promise.all(Array.from({ length: connections }, () => ask(agent, { url: `${origin}/health/live` })))
  return agent
}

/** Each client sends the next call as soon as it has the last response, until aborted. */
export const closedLoop = async (
  calls: ReadonlyArray<Call>,
  clients: number,
  seconds: number,
  signal?: AbortSignal
) => {
  const agent = await connected(new URL(calls[0]?.url ?? ""), clients)
  const outcomes: Array<Outcome> = []
  const until = performance.now() + seconds * 1000
  const sent = { count: 0 }
  const isOver = () => performance.now() >= until || signal?.aborted === true
  const client = async () => {
    while (!isOver()) {
      const call = calls[sent.count++ % calls.length]
      if (call !== undefined) outcomes.push(await ask(agent, call))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
  return outcomes
}

/** Sends `rate` calls a second, evenly spaced, whatever the responses take; each is timed from when it is sent. */
export const openLoop = async (calls: ReadonlyArray<Call>, rate: number, connections: number, seconds: number) => {
  const agent = await connected(new URL(calls[0]?.url ?? ""), connections)
  const started = performance.now()
  const outcomes: Array<Promise<Outcome>> = []
  while (outcomes.length < rate * seconds) {
    const due = started + outcomes.length * 1000 / rate
    const call = calls[outcomes.length % calls.length]
    if (due > performance.now()) await setTimeout(1)
    else if (call !== undefined) outcomes.push(ask(agent, call))
  }
  const all = await Promise.all(outcomes)
  agent.destroy()
  return all
}
