import { setTimeout as pause } from "node:timers/promises"
import { P99, quantile } from "../bench/statistics.ts"
import { type Ask, asking, type Reply } from "./ask.ts"
import { decodeWork, type Work } from "./loaderWork.ts"

/** A process of its own, so that the cost of the clients is not taken for that of the service. */

const body = JSON.stringify({
  name: "Load",
  waypoints: [{ coord: [9.5, 47.1] }],
  geometry: Array.from({ length: 20 }, (_, n) => [9.5 + n / 1000, 47.1])
})

const MIX: ReadonlyArray<Omit<Ask, "token">> = [
  { path: "/api/v1/routes?limit=5&geometry=none" },
  { path: "/api/v1/users/me" },
  { path: "/api/v1/routes/public?limit=5" },
  { method: "POST", path: "/api/v1/routes", body },
  { path: "/api/v1/collections?limit=5" }
]

const nextOf = ({ tokens }: Work, n: number): Ask => ({
  path: "/health/live",
  ...MIX[n % MIX.length],
  token: tokens[n % tokens.length]
})

/** The times of each kind of reply, in milliseconds. */
const kinds = new Map<string, Array<number>>()

const keep = ({ began, ended, failure, status }: Reply) => {
  const kind = status === 0 ? failure : String(status)
  const times = kinds.get(kind) ?? []
  times.push(ended - began)
  kinds.set(kind, times)
}

/** Each connection sends the next request as soon as it has a response. */
const closed = async (work: Work) => {
  const { ask, close } = asking(work.origin)
  const until = performance.now() + work.seconds * 1000
  const state = { asked: 0 }
  const one = async () => {
    while (performance.now() < until) keep(await ask(nextOf(work, state.asked++)))
  }
  await Promise.all(Array.from({ length: work.connections }, one))
  close()
}

const WARM_UP_SECONDS = 2

/** Milliseconds. The load comes out of nothing. */
const SILENCE = 1000

/**
 * Requests arrive at a rate, whether or not those before have got a response. What is sent to warm up is not kept: a
 * process that has just started is slower than the service, and would measure itself.
 */
const open = async (work: Work) => {
  const { ask, close } = asking(work.origin)
  const state = { running: 0 }
  const one = async (n: number, then: (reply: Reply) => void) => {
    state.running += 1
    then(await ask(nextOf(work, n)))
    state.running -= 1
  }
  const arriving = async (perSecond: number, seconds: number, then: (reply: Reply) => void) => {
    const began = performance.now()
    for (let n = 0; n < perSecond * seconds;) {
      const early = began + n * 1000 / perSecond - performance.now()
      if (early > 0) {
        await pause(early)
        continue
      }
      void one(n++, then)
    }
  }
  const settled = async () => {
    while (state.running > 0) await pause(10)
  }
  if (work.warmUp > 0) {
    await arriving(work.warmUp, WARM_UP_SECONDS, () => undefined)
    await settled()
    await pause(SILENCE)
  }
  await arriving(work.perSecond, work.seconds, keep)
  await settled()
  close()
}

const work = decodeWork(process.argv[2] ?? "")
await (work.perSecond > 0 ? open(work) : closed(work))
console.log(JSON.stringify(
  [...kinds].map(([kind, times]) => ({
    kind,
    count: times.length,
    p50: quantile(times, 0.5),
    p99: quantile(times, P99)
  }))
))
