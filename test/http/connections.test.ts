import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connection } from "../support/Connections.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

const REQUEST = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"

const responsesOn = (received: string) => received.split("HTTP/1.1 200 OK\r\n").length - 1

/** Makes a connection that has got a response. */
const served = Effect.gen(function*() {
  const opened = yield* connection
  opened.socket.write(REQUEST)
  yield* until(Effect.sync(() => responsesOn(opened.received()) === 1))
  return opened
})

layer(TestServer.layer({ MAX_CONNECTIONS: "20" }), { excludeTestServices: true })("MAX_CONNECTIONS", (it) => {
  it.effect("closes connections above it without a response, serves the others, and takes new ones when some have ended", () =>
    Effect.gen(function*() {
      const [first, ...others] = yield* Effect.replicateEffect(served, 20)
      const beyond = yield* Effect.replicateEffect(connection, 5)
      for (const { closed, received } of beyond) {
        yield* closed
        assert.strictEqual(received(), "")
      }
      for (const { received, socket } of others) {
        socket.write(REQUEST)
        yield* until(Effect.sync(() => responsesOn(received()) === 2))
      }
      first?.socket.destroy()
      const isTaken = Effect.gen(function*() {
        const { closed, received, socket } = yield* connection
        socket.write(REQUEST.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
        yield* closed
        return responsesOn(received()) === 1
      }).pipe(Effect.scoped)
      yield* until(isTaken)
    }).pipe(Effect.scoped))
})
