import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { signedUp } from "../../test/support/Actors.ts"
import { clonedDatabase } from "../../test/support/Databases.ts"
import { MailProvider } from "../../test/support/MailProvider.ts"
import { figuresOf, monitoredWith } from "../../test/support/MonitoredProcess.ts"
import { replica } from "../../test/support/Replica.ts"
import { created, newRoute } from "../../test/support/Routes.ts"
import { TestServer } from "../../test/support/TestServer.ts"

/** The requests are many, so that the compiled code of the first ones and collections in between count little. */
const REQUESTS = 3000

const AT_ONCE = 10

/** A request ages this many KiB at most: 0.4 where nothing keeps what a request has done with, else 2.5 to 11. */
const MOST_AGED = 1.5

/** KiB of a request that become old in a process of its own. */
const agedByRequest = Effect.gen(function*() {
  const process = yield* replica({
    ...yield* MailProvider,
    ...monitoredWith(512),
    DATABASE_URL: yield* clonedDatabase,
    NODE_ENV: "test",
    LOG_LEVEL: "error",
    RATE_LIMITS_ENABLED: "false",
    TELEMETRY_ENABLED: "false"
  })
  yield* process.ready
  const rider = yield* Effect.provideService(signedUp, TestServer, process.server)
  const { body } = yield* rider.post("/routes", newRoute({ visibility: "public" }))
  const path = `/routes/${created(body).id}`
  const reads = Effect.forEach(
    Array.from({ length: REQUESTS }),
    () => Effect.map(process.server.call("GET", path), ({ status }) => assert.strictEqual(status, 200)),
    { concurrency: AT_ONCE, discard: true }
  )
  yield* reads
  yield* figuresOf(process)
  yield* reads
  const { aged } = yield* figuresOf(process)
  return 1024 * aged / REQUESTS
}).pipe(Effect.scoped)

layer(MailProvider.layer(0), { excludeTestServices: true, timeout: "60 seconds" })("garbage", (it) => {
  it.effect("of a request is collected soon after it", () =>
    Effect.gen(function*() {
      assert.isBelow(yield* agedByRequest, MOST_AGED)
    }))
})
