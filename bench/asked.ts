import autocannon from "autocannon"
import { Effect } from "effect"
import { processorTime } from "./processes.ts"
import { type Compared, CONNECTIONS } from "./requests.ts"

export interface Asked {
  readonly name: string
  readonly origin: string
  readonly pid: number
}

export interface Figures {
  /** Requests a second. */
  readonly rate: number
  /** Processor time of the server's process, in microseconds a request. */
  readonly cost: number
}

/** Sends one request again and again for some seconds. Any response but a success ends the bench. */
export const asked = Effect.fnUntraced(function*(
  { name, origin, pid }: Asked,
  { body, connections = CONNECTIONS, headers, method = "GET", name: request, path }: Compared,
  seconds: number
): Effect.fn.Return<Figures> {
  const before = yield* processorTime(pid)
  const sent = { ...(headers === undefined ? {} : { headers }), ...(body === undefined ? {} : { body }) }
  const load = { url: `${origin}${path}`, method, connections, duration: seconds, ...sent }
  const { errors, non2xx, requests } = yield* Effect.promise(() => autocannon(load))
  if (non2xx + errors > 0) {
    const text = yield* Effect.promise(() => fetch(load.url, { method, ...sent }).then((response) => response.text()))
    return yield* Effect.die(
      new Error(`${name}, ${request}: ${non2xx} responses were not 2xx, ${errors} errors; ${text.slice(0, 200)}`)
    )
  }
  return { rate: requests.average, cost: 1000 * ((yield* processorTime(pid)) - before) / requests.total }
})
