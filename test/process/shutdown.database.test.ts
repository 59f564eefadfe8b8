import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { signedUp } from "../support/Actors.ts"
import { databaseProxy } from "../support/DatabaseProxy.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { logged, replica } from "../support/Replica.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

/** The database is behind a proxy. What does not end in time ends by force, with code 1. */
const proxiedDatabase = Effect.flatMap(clonedDatabase, databaseProxy)

describe("a process that gets SIGTERM while its database hangs", () => {
  it.live.each(["before", "once"])(
    "ends in time with code 0, signalled %s the log says so",
    (instant) =>
      Effect.gen(function*() {
        const { proxy, url } = yield* proxiedDatabase
        const process = yield* replica({
          ...yield* MailProvider,
          DATABASE_URL: url,
          DATABASE_POOL_SIZE: "4",
          SHUTDOWN_DRAIN_DELAY: "200 millis",
          ERASURE_SWEEP_INTERVAL: "50 millis",
          PURGE_SWEEP_INTERVAL: "50 millis"
        })
        yield* process.ready
        const rider = yield* Effect.provideService(signedUp, TestServer, process.server)
        const headers = { "idempotency-key": "held" }
        yield* Effect.promise(() => proxy.set("stall"))
        const sent = proxy.chunks()
        for (
          const call of [
            rider.get("/routes"),
            rider.get("/users/me"),
            rider.post("/routes", newRoute({})),
            rider.post("/routes", newRoute({}), { headers })
          ]
        ) yield* Effect.forkChild(Effect.exit(call))
        const isWaiting = () => proxy.chunks() >= sent + 4
        const isSaid = () => JSON.stringify(logged(process, "ERROR")).includes("database does not respond")
        yield* until(Effect.sync(instant === "before" ? isWaiting : isSaid))
        yield* process.tell("SIGTERM")
        assert.strictEqual((yield* process.ended).code, 0)
      }).pipe(Effect.scoped, Effect.provide(MailProvider.layer(0)))
  )

  it.live(
    "ends in time with code 0 while it still waits for it",
    () =>
      Effect.gen(function*() {
        const { proxy, url } = yield* proxiedDatabase
        yield* Effect.promise(() => proxy.set("hang"))
        const process = yield* replica({ DATABASE_URL: url })
        yield* until(Effect.sync(() => JSON.stringify(logged(process, "WARN")).includes("database not reachable")))
        yield* process.tell("SIGTERM")
        assert.strictEqual((yield* process.ended).code, 0)
      }).pipe(Effect.scoped)
  )
})
