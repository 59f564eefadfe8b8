import { Effect, Schema } from "effect"
import { type Call, closedLoop } from "./load.ts"
import { childrenTimes, processorTime } from "./processes.ts"
import { connected } from "./seed.ts"
import { P99, quantile, sum } from "./statistics.ts"

/** A server under load. */
export interface Server {
  readonly origin: string
  readonly pid: number
}

export interface Figures {
  /** Requests a second. */
  readonly rate: number
  /** In milliseconds. */
  readonly p99: number
  /** Processor time of the server's process, in microseconds a request. */
  readonly cost: number
  /** That of PostgreSQL's processes. */
  readonly database: number
}

/** The process that PostgreSQL's others are children of. */
export const postmaster = (url: string) =>
  connected(url).pipe(
    Effect.flatMap((client) =>
      Effect.promise(() => client.query<{ file: string }>("SELECT pg_read_file('postmaster.pid') AS file"))
    ),
    Effect.map(({ rows }) => Number(rows[0]?.file.split("\n")[0])),
    Effect.scoped
  )

const responseOf = async ({ body, headers = {}, method = "GET", url }: Call) => {
  const response = await fetch(url, { headers, method, ...(body === undefined ? {} : { body }) })
  return `${method} ${url}: ${response.status} ${(await response.text()).slice(0, 300)}`
}

export class LoadFailed extends Schema.TaggedError<LoadFailed>()("LoadFailed", { message: Schema.String }) {}

/** Sends calls in turn from so many clients. Any response but a success is a failure. */
export const measured = Effect.fnUntraced(function*(
  { pid }: Server,
  postgres: number,
  calls: ReadonlyArray<Call>,
  clients: number,
  seconds: number
): Effect.fn.Return<Figures, LoadFailed> {
  const before = yield* Effect.all([processorTime(pid), childrenTimes(postgres)])
  const started = performance.now()
  const outcomes = yield* Effect.promise((signal) => closedLoop(calls, clients, seconds, signal))
  const took = (performance.now() - started) / 1000
  const after = yield* Effect.all([processorTime(pid), childrenTimes(postgres)])
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
    cost: 1000 * (after[0] - before[0]) / outcomes.length,
    database: 1000 * sum([...after[1]].map(([pid, time]) => time - (before[1].get(pid) ?? 0))) / outcomes.length
  }
})

const NOISE = 0.97

/** Repeats a load until two in a row took no less processor time: V8 compiles what a request needs for seconds. */
export const warmUp = Effect.fnUntraced(function*<E>(load: Effect.Effect<Figures, E>) {
  let best = Infinity
  for (let slower = 0; slower < 2;) {
    const { cost } = yield* load
    slower = cost < best * NOISE ? 0 : slower + 1
    best = Math.min(best, cost)
  }
})
