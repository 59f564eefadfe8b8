import autocannon from "autocannon"
import { Console, Effect, Redacted } from "effect"
import { availableParallelism, loadavg } from "node:os"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { processorTime } from "./processes.ts"
import { median } from "./statistics.ts"
import { type Call, steadyP99 } from "./steady.ts"
import { type Target, targets } from "./targets.ts"

const SECONDS = 3
const CONNECTIONS = 20
const ROUNDS = 3

/** The p99 in milliseconds that a rate is held at, and by how many halvings it is found. */
const GOAL = 50
const STEPS = 5

/** What is asked: of ten requests of the mix nine read and one writes. */
const MIXES = {
  read: ({ read }: Target) => [read],
  write: ({ write }: Target) => [write],
  mixed: ({ read, write }: Target) => [...Array.from({ length: 9 }, () => read), write]
}
type Mix = keyof typeof MIXES

const MIX_NAMES: ReadonlyArray<Mix> = ["read", "write", "mixed"]

const requestOf = ({ url, ...call }: Call) => ({ ...call, path: new URL(url).pathname })

interface Load {
  readonly rate: number
  readonly processor: number
}

const load = Effect.fnUntraced(function*(target: Target, mix: Mix): Effect.fn.Return<Load> {
  const before = yield* processorTime(target.pid)
  const { errors, non2xx, requests } = yield* Effect.promise(() =>
    autocannon({
      url: new URL(target.read.url).origin,
      requests: MIXES[mix](target).map(requestOf),
      connections: CONNECTIONS,
      duration: SECONDS
    })
  )
  if (non2xx + errors > 0) {
    return yield* Effect.die(new Error(`${target.name}: ${non2xx} answers were not 2xx, ${errors} errors`))
  }
  return { rate: requests.average, processor: ((yield* processorTime(target.pid)) - before) / requests.total }
})

/** The highest steady rate of a call whose p99 stays under the goal, by halving the range below what is done at most. */
const heldRate = (call: Call, held: number, missed: number, steps: number): Effect.Effect<number> =>
  steps === 0
    ? Effect.succeed(held)
    : Effect.gen(function*() {
      const rate = Math.round((held + missed) / 2)
      const isHeld = (yield* steadyP99(call, rate, CONNECTIONS, SECONDS)) < GOAL
      return yield* heldRate(call, isHeld ? rate : held, isHeld ? missed : rate, steps - 1)
    })

type Round = Readonly<Record<Mix, Load>>

const cell = (rounds: ReadonlyArray<Round>, ours: ReadonlyArray<Round>, mix: Mix) => {
  const rate = median(rounds.map((round) => round[mix].rate))
  const ratio = median(rounds.map((round, n) => round[mix].rate / (ours[n]?.[mix].rate ?? 1)))
  return `${rate.toFixed(0)}/s, ${ratio.toFixed(2)}`
}

const processorCell = (rounds: ReadonlyArray<Round>) =>
  `${median(rounds.map(({ read }) => 1000 * read.processor)).toFixed(0)} us`

const roundsOf = (all: ReadonlyArray<ReadonlyArray<Round>>, n: number) =>
  all.map((round) => round[n]).filter((round) => round !== undefined)

const HEADING =
  `| | reads | writes | nine reads to a write | processor a read | reads held at p99 < ${GOAL} ms | writes held |
|---|---|---|---|---|---|---|`

/** Compares them alternately on one machine: rates with their ratio to one process of the service, each the median of its rounds. */
export const comparison = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const all = yield* targets(url, directory)
  const round = Effect.forEach(
    all,
    (target) => Effect.all({ read: load(target, "read"), write: load(target, "write"), mixed: load(target, "mixed") })
  )
  yield* round
  const rounds = yield* Effect.forEach(Array.from({ length: ROUNDS }), () => round)
  yield* Console.log(
    `\nThe load and PostgreSQL share ${availableParallelism()} cores with what is measured; ${
      loadavg()[0]?.toFixed(1)
    } processes wanted them in the last minute.\n\n${HEADING}`
  )
  yield* Effect.forEach(all, ({ name, read, write }, n) =>
    Effect.gen(function*() {
      const own = roundsOf(rounds, n)
      const most = (mix: Mix) => median(own.map((each) => each[mix].rate))
      const reads = yield* heldRate(read, 0, most("read") * 1.2, STEPS)
      const writes = yield* heldRate(write, 0, most("write") * 1.2, STEPS)
      const cells = MIX_NAMES.map((mix) => cell(own, roundsOf(rounds, 0), mix))
      yield* Console.log(`| ${[name, ...cells, processorCell(own), `${reads}/s`, `${writes}/s`].join(" | ")} |`)
    }), { discard: true })
}).pipe(Effect.scoped)
