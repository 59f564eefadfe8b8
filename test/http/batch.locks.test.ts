import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { type Actor, signedIn } from "../support/Actors.ts"
import { makeRoute } from "../support/Collections.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"

const batch = (actor: Actor, operations: ReadonlyArray<object>) =>
  actor.post("/routes/batch", { operations, atomic: true })

const CREATE = { op: "create", route: newRoute({}) }

const CREATE_COLLECTION = { op: "createCollection", collection: { name: "Passes" } }

/** Runs both calls once each waits for the locks of another transaction, the first before the second. */
const together = Effect.fnUntraced(function*<E, R>(
  lock: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>,
  first: Effect.Effect<Answer, E, R>,
  second: Effect.Effect<Answer, E, R>
) {
  const waiting = Effect.gen(function*() {
    const one = yield* Effect.forkChild(first)
    yield* untilLocked(1)
    const other = yield* Effect.forkChild(second)
    yield* untilLocked(2)
    return [one, other]
  })
  const calls = yield* whileLocked(lock, waiting)
  return yield* Effect.forEach(calls, (call) => Effect.map(Fiber.join(call), ({ status }) => status))
})

layer(TestServer.layer())("batches of one account never wait for each other", (it) => {
  it.effect("where they make the same in another order", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const statuses = yield* together(
        (sql) => sql`SELECT FROM collection_usage WHERE user_id = ${rider.id} FOR UPDATE`,
        batch(rider, [CREATE_COLLECTION, CREATE]),
        batch(rider, [CREATE, CREATE_COLLECTION])
      )
      assert.deepStrictEqual(statuses, [200, 200])
    }))

  it.effect("nor for a call on a route, where they change the account too", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const id = yield* makeRoute(rider)
      for (const changes of [{ preferences: { units: "imperial" } }, { handle: `renamed-${rider.id}` }]) {
        const statuses = yield* together(
          (sql) => sql`SELECT FROM routes WHERE id = ${id} FOR UPDATE`,
          rider.post(`/routes/${id}/links`, {}),
          batch(rider, [{ op: "updateAccount", changes }, { op: "update", id, ifMatch: "*", changes: { name: "New" } }])
        )
        assert.deepStrictEqual(statuses, [201, 200])
      }
    }))
})
