import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { once } from "node:events"
import { createServer, Socket } from "node:net"
import { databaseLive } from "../../src/layers/Database.ts"
import { plainAddress, readingSocket } from "../../src/layers/database/ReadingSocket.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { listening } from "../support/Listening.ts"
import { configLayer } from "../support/TestServer.ts"

const SENT = Buffer.from(Array.from({ length: 4 * 1024 * 1024 + 1 }, (_, n) => n * n % 251))

/** The port of a server that sends the same bytes to each client, and ends. */
const sender = Effect.suspend(() => listening(createServer((socket) => socket.on("error", () => {}).end(SENT))))

const connectedTo = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => readingSocket({ host: "127.0.0.1", port })),
    (socket) => Effect.sync(() => socket.destroy())
  )

/** Copies what it gets, as the driver does. */
const received = (socket: Socket) => {
  const chunks: Array<Buffer> = []
  const buffers = new Set<ArrayBufferLike>()
  socket.on("data", (chunk: Buffer) => {
    chunks.push(Buffer.from(chunk))
    buffers.add(chunk.buffer)
  })
  return { buffers, bytes: () => Buffer.concat(chunks) }
}

/** What each socket that this process connects with gets until the scope closes. */
const watched = Effect.gen(function*() {
  const all: Array<ReturnType<typeof received>> = []
  const see = (message: unknown) => {
    if (message instanceof Object && "socket" in message && message.socket instanceof Socket) {
      all.push(received(message.socket))
    }
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe("net.client.socket", see)),
    () => Effect.sync(() => unsubscribe("net.client.socket", see))
  )
  return all
})

describe("a connection to the database", () => {
  it.effect("of the service is one that reads into one buffer", () =>
    Effect.gen(function*() {
      const sockets = yield* watched
      // Tests connect by a Unix socket.
      const url = new URL(yield* clonedDatabase)
      url.searchParams.delete("host")
      const settings = configLayer(url.href, { DATABASE_POOL_SIZE: "1" })
      const context = yield* Layer.build(databaseLive.pipe(Layer.provide(settings)))
      const sql = Context.get(context, SqlClient.SqlClient)
      for (let n = 0; n < 4; n++) yield* sql`SELECT repeat('long', 100000) AS line`
      const long = sockets.filter(({ bytes }) => bytes().length > 1_000_000)
      assert.deepStrictEqual(long.map(({ buffers }) => buffers.size), [1])
    }))

  it.effect("reads all that it gets into one buffer, in order, and ends", () =>
    Effect.gen(function*() {
      const port = yield* sender
      const socket = yield* connectedTo(port)
      const { buffers, bytes } = received(socket)
      yield* Effect.promise(() => once(socket, "close"))
      assert.isTrue(bytes().equals(SENT))
      assert.strictEqual(buffers.size, 1)
    }))

  it.effect("reads nothing while it is paused, and the rest afterwards", () =>
    Effect.gen(function*() {
      const port = yield* sender
      const socket = yield* connectedTo(port)
      const { bytes } = received(socket)
      yield* Effect.promise(() => once(socket, "data"))
      socket.pause()
      const before = bytes().length
      const other = yield* connectedTo(port)
      const all = received(other)
      yield* Effect.promise(() => once(other, "close"))
      assert.isTrue(all.bytes().equals(SENT))
      assert.strictEqual(bytes().length, before)
      assert.isBelow(before, SENT.length)
      socket.resume()
      yield* Effect.promise(() => once(socket, "close"))
      assert.isTrue(bytes().equals(SENT))
    }))

  it("goes to the address of the URL, and to 5432 where it names no port", () => {
    const addresses = [
      ["postgres://user:password@database.example:6432/name?application_name=test", "database.example", 6432],
      ["postgresql://user@127.0.0.1/name", "127.0.0.1", 5432],
      ["postgres://user@[::1]:6432/name", "::1", 6432]
    ] as const
    assert.deepStrictEqual(
      addresses.map(([url]) => plainAddress(url)),
      addresses.map(([, host, port]) => ({ host, port }))
    )
  })

  it("is made by the driver where the URL says more", () => {
    const left = [
      "postgres://user@host/name?sslmode=require",
      "postgres://user@host/name?sslmode=prefer",
      "postgres://user@host/name?host=/run/postgresql",
      "postgres://user@host/name?port=6432",
      "postgres://user@%2Frun%2Fpostgresql/name",
      "postgres:///name",
      "no URL"
    ]
    assert.deepStrictEqual(left.filter((url) => plainAddress(url) !== undefined), [])
  })
})
