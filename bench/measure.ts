import { Effect, Schema } from "effect"
import { type Call, closedLoop } from "./load.ts"
import { costOf, type Server } from "./processes.ts"
import { P99, quantile } from "./statistics.ts"

export interface Figures {
  /** The rate is in requests a second. */
  readonly rate: number
  /** The 99th percentile is in milliseconds. */
  readonly p99: number
  /** The server's process took this processor time, in microseconds a request. */
  readonly cost: number
  /** PostgreSQL's processes took this processor time, in microseconds a request. */
  readonly database: number
}

const responseOf = async ({ body, headers = {}, method = "GET", url }: Call) => {
  const response = await fetch(url, { headers, method, ...(body === undefined ? {} : { body }) })
  return `${method} ${url}: ${response.status} ${(await response.text()).slice(0, 300)}`
}

export class LoadFailed extends Schema.TaggedError<LoadFailed>()("LoadFailed", { message: Schema.String }) {}

/** Sends calls in turn from `clients` clients. Fails with `LoadFailed` for any response but a success. */
export const measured = Effect.fnUntraced(function*(
  server: Server,
  calls: ReadonlyArray<Call>,
  clients: number,
  seconds: number
): Effect.fn.Return<Figures, LoadFailed> {
  const load = Effect.promise((signal) => closedLoop(calls, clients, seconds, signal))
  const { database, processor, result: outcomes, seconds: took } = yield* costOf(server, load)
  const failed = outcomes.findIndex(({ status }) => status < 200 || status > 299)
  const [call] = calls
  if (failed !== -1 && call !== undefined) {
    const first = yield* Effect.promise(() => responseOf(call))
    return yield* new LoadFailed({
      message: `request ${failed} of ${outcomes.length}: ${outcomes[failed]?.status}; later ${first}`
    })
  }
  return {
    rate: outcomes.length / took,
    p99: quantile(outcomes.map(({ milliseconds }) => milliseconds), P99),
    cost: 1000 * processor / outcomes.length,
    database: 1000 * database / outcomes.length
  }
})

const NOISE = 0.97

/** Repeats a load until two in a row took no less processor time: V8 compiles the code of a request for seconds. */
export const warmUp = Effect.fnUntraced(function*<E>(load: Effect.Effect<Figures, E>) {
  let best = Infinity
  for (let slower = 0; slower < 2;) {
    const { cost } = yield* load
    slower = cost < best * NOISE ? 0 : slower + 1
    best = Math.min(best, cost)
  }
})
