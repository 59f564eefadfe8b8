import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { Server } from "node:http"
import { type AddressInfo, connect, createServer } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { listenByMany } from "../../src/layers/Acceptors.ts"

const HOST = "127.0.0.1"
const CROWD = 320
const HELD = "/held"
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

const portOf = (server: Server) => {
  const address: AddressInfo | string | null = server.address()
  return address === null || typeof address === "string" ? 0 : address.port
}

const started = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = new Server(({ url }, response) => void (url === HELD || response.end("ok")))
    listenByMany(server)
    await new Promise<void>((resolve) => void server.listen({ port: 0, host: HOST, backlog: 1024 }, resolve))
    return server
  }),
  (server) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
)

const connected = async (port: number) => {
  const socket = connect(port, HOST)
  await once(socket, "connect")
  socket.on("error", () => {})
  return socket
}

const refusalOf = (port: number) =>
  connected(port).then(() => "connected", (error: unknown) => error instanceof Error ? error.message : "")

const connectionsOf = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))

it.live.skipIf(process.platform !== "linux")(
  "accepts a crowd in far fewer turns of the event loop than it has connections",
  () =>
    Effect.gen(function*() {
      const server = yield* started
      const seen = { connections: 0, turns: 0 }
      server.on("connection", () => void (seen.connections += 1))
      const sockets = Array.from({ length: CROWD }, () => connect(portOf(server), HOST))
      yield* Effect.promise(async () => {
        while (seen.connections < CROWD) {
          await turn()
          if (seen.connections > 0) seen.turns += 1
        }
      })
      assert.isBelow(seen.turns, CROWD / 4)
      assert.strictEqual(yield* Effect.promise(() => connectionsOf(server)), CROWD)
      sockets.forEach((socket) => socket.destroy())
    }).pipe(Effect.scoped)
)

it.live("does not share its port with another process", () =>
  Effect.gen(function*() {
    const port = portOf(yield* started)
    const code = yield* Effect.promise(async () => {
      const second = new Server()
      listenByMany(second)
      second.listen({ port, host: HOST })
      const [error] = await once(second, "error")
      return error.code
    })
    assert.strictEqual(code, "EADDRINUSE")
  }).pipe(Effect.scoped))

it.live("serves every connection, and when it stops refuses new ones and waits for all that it has", () =>
  Effect.gen(function*() {
    const server = yield* started
    const port = portOf(server)
    yield* Effect.promise(async () => {
      const sockets = await Promise.all(Array.from({ length: 64 }, () => connected(port)))
      await Promise.all(sockets.map(async (socket) => {
        socket.write(get("/"))
        const [response] = await once(socket, "data")
        assert.include(String(response), "200 OK")
      }))
      sockets[0]?.write(get(HELD))
      await once(server, "request")
      const ended = new Promise<void>((resolve) => void server.close(() => resolve()))
      assert.include(await refusalOf(port), "ECONNREFUSED")
      assert.strictEqual(await connectionsOf(server), 1)
      server.closeAllConnections()
      await ended
      // The port is free again.
      const next = createServer().listen(port, HOST)
      await once(next, "listening")
      next.close()
    })
  }).pipe(Effect.scoped))
