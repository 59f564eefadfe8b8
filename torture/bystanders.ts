import { Effect, Fiber } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { P99, quantile } from "../bench/statistics.ts"
import type { Ask, Reply } from "./ask.ts"
import { type Behaviour, FAILURES } from "./neighbour.ts"
import type { NamedNeighbour } from "./neighbours.ts"
import type { Recorder } from "./recorder.ts"
import type { World } from "./world.ts"

type Clients = Pick<World, "accounts" | "asking">

const PER_SECOND = 40

const SECONDS = { short: 0.7, full: 10 }

/** Of the p99 of everything else while all of them work. */
const TIMES = 1.5

/** Smaller differences are noise of the machine. */
const LEAST = 20

const OTHERS: ReadonlyArray<Ask> = [
  { path: "/api/v1/users/me" },
  { path: "/api/v1/routes?limit=3&geometry=none" },
  { method: "POST", path: "/api/v1/routes", body: JSON.stringify({ name: "Beside", waypoints: [{ coord: [9, 47] }] }) },
  { path: "/api/v1/routes/public?limit=3" }
]

/** The times of everything else at a steady rate, for some seconds. */
export const beside = ({ accounts, asking: { ask } }: Clients, recorder: Recorder, seconds: number) =>
  Effect.promise(async () => {
    const began = performance.now()
    const replies: Array<Promise<Reply>> = []
    while (replies.length < PER_SECOND * seconds) {
      const early = began + replies.length * 1000 / PER_SECOND - performance.now()
      if (early > 0) await pause(early)
      const call = OTHERS[replies.length % OTHERS.length]
      const person = replies.length % accounts.length
      const token = accounts[person]?.token
      const headers = { "x-forwarded-for": `192.0.2.${person}` }
      if (call !== undefined) replies.push(recorder.watch(() => ask({ ...call, token, headers }), call.path))
    }
    const answered = await Promise.all(replies)
    const failed = answered.filter(({ status }) => status < 200 || status >= 300).length
    return { failed, p99: quantile(answered.map(({ began, ended }) => ended - began), P99) }
  })

/** Calls that need the neighbour, for as long as they are not interrupted. */
const needing = ({ asking: { ask } }: Clients, { call, perSecond }: NamedNeighbour) =>
  Effect.promise(async (signal) => {
    while (!signal.aborted) {
      void call(ask)
      await pause(1000 / perSecond)
    }
  })

const measured = Effect.fnUntraced(
  function*(clients: Clients, recorder: Recorder, one: NamedNeighbour, behaviour: Behaviour, seconds: number) {
    if (!(yield* one.isUsed)) recorder.report(`${one.name}: it works, and is not used`)
    yield* one.neighbour.become(behaviour)
    const calls = yield* Effect.forkChild(needing(clients, one))
    const seen = yield* beside(clients, recorder, seconds)
    yield* Fiber.interrupt(calls)
    yield* one.neighbour.become("normal")
    return seen
  }
)

/** Figures of everything else while one other service works, and while it fails in each way. */
export const judged = Effect.fnUntraced(
  function*(clients: Clients, recorder: Recorder, one: NamedNeighbour, form: "short" | "full") {
    const seconds = SECONDS[form]
    const normal = yield* measured(clients, recorder, one, "normal", seconds)
    const failing = yield* Effect.forEach(
      FAILURES,
      (behaviour) =>
        Effect.map(measured(clients, recorder, one, behaviour, seconds), ({ failed, p99 }) => {
          const isSlower = p99 > normal.p99 * TIMES && p99 - normal.p99 > LEAST
          recorder.reportSlowness(
            `${one.name}, ${behaviour}: p99 of everything else above 1.5 times`,
            isSlower ? 1 : 0
          )
          recorder.report(`${one.name}, ${behaviour}: everything else failed`, failed)
          return `${behaviour} ${p99.toFixed(0)} ms`
        })
    )
    return `${one.name}: p99 of everything else: normal ${normal.p99.toFixed(0)} ms, ${failing.join(", ")}`
  }
)
