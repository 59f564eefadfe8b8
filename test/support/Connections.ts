import { Effect, type Scope } from "effect"
import { get, type IncomingMessage } from "node:http"
import { connect, type Socket } from "node:net"
import { anonymous } from "./Actors.ts"
import { TestServer } from "./TestServer.ts"

export const MIB = 1024 * 1024

export const sampled = (name: string, labels = "") =>
  Effect.map(
    Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")),
    ({ text }) => {
      const line = text.split("\n").find((line) => line.startsWith(`${name}${labels} `))
      return line === undefined ? 0 : Number(line.split(" ").at(-1))
    }
  )

/** Returns how many requests ended with a status of this class. */
export const countOf = (method: string, route: string, status: "2xx" | "4xx" | "499" | "5xx") =>
  sampled(
    "http_server_requests_total",
    `{method="${method}",route="${route}",status="${status}"}`
  )

interface Connection {
  readonly socket: Socket
  readonly received: () => string
  readonly closed: Effect.Effect<void>
}

export const connection: Effect.Effect<Connection, never, TestServer | Scope.Scope> = Effect.gen(function*() {
  const { origin } = yield* TestServer
  const chunks: Array<Buffer> = []
  const closed = Promise.withResolvers<void>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => resume(Effect.succeed(socket)))
      socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => undefined).on("close", () => closed.resolve())
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  return {
    socket,
    received: () => Buffer.concat(chunks).toString(),
    closed: Effect.promise(() => closed.promise)
  }
})

/** Sends a request whose response stays unread until the test reads it. */
export const unread = Effect.fnUntraced(
  function*(path: string, address: string, others: Readonly<Record<string, string>> = {}) {
    const { origin } = yield* TestServer
    return yield* Effect.acquireRelease(
      Effect.callback<IncomingMessage>((resume) => {
        const headers = { "x-forwarded-for": address, ...others }
        get(`${origin}/api/v1${path}`, { headers, agent: false }, (response) => {
          response.on("error", () => undefined)
          resume(Effect.succeed(response))
        })
      }),
      (response) => Effect.sync(() => response.destroy())
    )
  }
)
