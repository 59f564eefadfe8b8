import { Context, Effect, Layer } from "effect"
import { createServer, type Socket } from "node:net"
import { closed } from "./Listening.ts"

/** A mode applies to existing connections as well as to new ones. */
export type RedisMode = "serve" | "full" | "hang" | "drip" | "garbage" | "wrong" | "endless"

const DRIP_MS = 100

/** The number is above any limit. "full" replies with it to every count. */
const MANY = 1_000_000

/** Returns the whole commands (RESP 2), and the rest. Arguments of several lines (scripts) are read by their length. */
const parse = (text: string): readonly [ReadonlyArray<ReadonlyArray<string>>, string] => {
  const head = /^\*(\d+)\r\n/.exec(text)
  if (head === null) return [[], text]
  const parts: Array<string> = []
  const at = { index: head[0].length }
  while (parts.length < Number(head[1])) {
    const length = /^\$(\d+)\r\n/.exec(text.slice(at.index))
    if (length === null) return [[], text]
    const start = at.index + length[0].length
    const end = start + Number(length[1])
    if (text.length < end + 2) return [[], text]
    parts.push(text.slice(start, end))
    at.index = end + 2
  }
  const [more, rest] = parse(text.slice(at.index))
  return [[parts, ...more], rest]
}

const drip = (socket: Socket, reply: string) => {
  const [first = "", rest] = [reply.at(0), reply.slice(1)]
  if (socket.destroyed || first === "") return
  socket.write(first)
  setTimeout(drip, DRIP_MS, socket, rest)
}

const pour = (socket: Socket): void => {
  const chunk = "x".repeat(65_536)
  // After an error the callbacks of further writes come at once, and without end.
  if (!socket.destroyed) socket.write(chunk, (error) => error ?? pour(socket))
}

/** This server knows the commands of Redis that counting needs, and can misbehave. */
export class StandInRedis extends Context.Service<StandInRedis, {
  readonly url: string
  readonly become: (mode: RedisMode) => Effect.Effect<void>
  /** Closes all connections and accepts none. */
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
  readonly connections: Effect.Effect<number>
  /** Returns how many counts were requested. */
  readonly counts: Effect.Effect<number>
}>()("test/StandInRedis") {
  static readonly layer = Layer.effect(
    StandInRedis,
    Effect.gen(function*() {
      const state: { mode: RedisMode; counts: number; port: number } = { mode: "serve", counts: 0, port: 0 }
      const counters = new Map<string, number>()
      const sockets = new Set<Socket>()

      const replyTo = ([name = "", ...rest]: ReadonlyArray<string>): string => {
        if (name === "SCRIPT") return `$40\r\n${"a".repeat(40)}\r\n`
        if (name !== "EVALSHA") return "+OK\r\n"
        const [, , key = "", tokens] = rest
        state.counts += 1
        const used = (counters.get(key) ?? 0) + Number(tokens)
        counters.set(key, used)
        return `*2\r\n:${state.mode === "full" ? MANY : used}\r\n:60000\r\n`
      }

      const respond = (socket: Socket, command: ReadonlyArray<string>) => {
        const reply = replyTo(command)
        if (state.mode === "serve" || state.mode === "full") socket.write(reply)
        if (state.mode === "drip") drip(socket, reply)
        if (state.mode === "garbage") socket.write("<html>canary</html>\r\n")
        if (state.mode === "wrong") socket.write("+OK\r\n")
        if (state.mode === "endless") {
          socket.write("$999999999999\r\n")
          pour(socket)
        }
      }

      const server = createServer((socket) => {
        sockets.add(socket)
        const received = { text: "" }
        socket.on("data", (chunk) => {
          const [commands, rest] = parse(received.text + chunk.toString())
          received.text = rest
          commands.forEach((command) => respond(socket, command))
        })
        socket.on("close", () => sockets.delete(socket)).on("error", () => undefined)
      })
      const listen = Effect.callback<void>((resume) => {
        server.listen(state.port, "127.0.0.1", () => {
          const address = server.address()
          state.port = address === null || typeof address === "string" ? 0 : address.port
          resume(Effect.void)
        })
      })
      const cut = Effect.sync(() => sockets.forEach((socket) => socket.destroy()))
      const down = Effect.andThen(closed(server), cut)
      yield* Effect.acquireRelease(listen, () => down)

      return StandInRedis.of({
        url: `redis://127.0.0.1:${state.port}`,
        become: (mode) => Effect.sync(() => void (state.mode = mode)),
        down,
        up: Effect.suspend(() => server.listening ? Effect.void : listen),
        connections: Effect.sync(() => sockets.size),
        counts: Effect.sync(() => state.counts)
      })
    })
  )
}
