import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"
import { listening } from "../test/support/Listening.ts"

/**
 * What a network does to its connections. `swallow` takes everything and delivers nothing, then and later: what was open
 * stays dead, as behind a firewall that forgot it. A number delays each packet by so many milliseconds.
 */
export type Weather = "forward" | "refuse" | "swallow" | number

export interface TcpProxy {
  readonly port: number
  readonly become: (weather: Weather) => Effect.Effect<void>
  /** Sends RST on all connections; new ones pass. */
  readonly reset: Effect.Effect<void>
}

interface Pair {
  readonly near: Socket
  readonly far: Socket
  isDead: boolean
}

/** Keeps the order of the packets when the delay changes. */
const forwarding = (pair: Pair, from: Socket, to: Socket, weather: () => Weather) => {
  const state = { due: 0 }
  from.on("data", (chunk: Buffer) => {
    const now = performance.now()
    const current = weather()
    if (current === "swallow") pair.isDead = true
    if (pair.isDead) return
    state.due = Math.max(state.due, now + (typeof current === "number" ? current : 0))
    if (state.due <= now) to.write(chunk)
    else setTimeout(() => to.writable && to.write(chunk), state.due - now)
  })
  from.on("close", () => pair.isDead || to.destroy())
  from.on("error", () => pair.isDead || to.destroy())
}

/** Stands before a port of this machine. */
export const tcpProxy = Effect.fnUntraced(function*(target: number) {
  const state: { weather: Weather } = { weather: "forward" }
  const pairs = new Set<Pair>()
  const server = createServer((near) => {
    if (state.weather === "refuse") return near.resetAndDestroy()
    near.setNoDelay(true)
    const far = connect({ port: target, host: "127.0.0.1", noDelay: true })
    const pair: Pair = { near, far, isDead: state.weather === "swallow" }
    pairs.add(pair)
    near.on("close", () => pairs.delete(pair))
    forwarding(pair, near, far, () => state.weather)
    forwarding(pair, far, near, () => state.weather)
    return undefined
  })
  const cut = () =>
    pairs.forEach(({ far, near }) => {
      near.resetAndDestroy()
      far.destroy()
    })
  const port = yield* listening(server)
  yield* Effect.addFinalizer(() => Effect.sync(cut))
  const proxy: TcpProxy = {
    port,
    become: (weather) =>
      Effect.sync(() => {
        state.weather = weather
        if (weather === "swallow") pairs.forEach((pair) => void (pair.isDead = true))
        if (weather === "refuse") cut()
      }),
    reset: Effect.sync(cut)
  }
  return proxy
})
