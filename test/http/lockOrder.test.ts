import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { type Actor, signedIn } from "../support/Actors.ts"
import { archiveOf, filesOf, imported, sealed } from "../support/Archives.ts"
import { make, makeRoute } from "../support/Collections.ts"
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

const source = (externalId: string) => ({ source: { provider: "strava", externalId } })

const elsewhere = { geometry: [[1, 1], [1.1, 1.1]] }

layer(TestServer.layer())("calls of one account", (it) => {
  it.effect("are repeated where the database has rolled one back, since each waited for the other", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const route = newRoute({ clientId: randomUUID() })
      const sameRoute = yield* together(
        (sql) => sql`SELECT FROM route_usage WHERE user_id = ${rider.id} FOR UPDATE`,
        batch(rider, [{ op: "create", route }]),
        rider.post("/routes", route)
      )
      const withHandle = yield* together(
        (sql) => sql`SELECT FROM collection_usage WHERE user_id = ${rider.id} FOR UPDATE`,
        batch(rider, [CREATE]),
        batch(rider, [{ op: "updateAccount", changes: { handle: `renamed-${rider.id}` } }])
      )
      assert.deepStrictEqual([sameRoute, withHandle], [[200, 201], [200, 200]])
    }))

  it.effect("lock the members of collections, and what an import restores, as an emptied trash does", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const ids = yield* Effect.forEach([1, 2, 3], () => makeRoute(rider))
      const { id: collectionId } = yield* make(rider, { routeIds: ids })
      const archive = yield* archiveOf(rider)
      for (const id of ids.toReversed()) yield* rider.delete(`/routes/${id}`)
      const restored = yield* together(
        (sql) => sql`SELECT FROM routes WHERE id = ${ids[1] ?? 0} FOR UPDATE`,
        imported(rider, archive),
        rider.delete("/routes/deleted")
      )
      assert.deepStrictEqual(restored, [201, 200])
      const [routeId = 0] = ids
      yield* rider.delete(`/routes/${routeId}`)
      const removed = yield* together(
        (sql) => sql`SELECT FROM route_usage WHERE user_id = ${rider.id} FOR UPDATE`,
        batch(rider, [{ op: "removeFromCollection", collectionId, routeId }]),
        rider.delete("/routes/deleted")
      )
      assert.deepStrictEqual(removed, [200, 200])
    }))

  it.effect("nor for a transaction that has added a row of the account, where they change its handle", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const statuses = yield* whileLocked(
        (sql) => sql`SELECT FROM users WHERE id = ${rider.id} FOR KEY SHARE`,
        Effect.all([
          batch(rider, [{ op: "updateAccount", changes: { handle: `new-${rider.id}` } }]),
          rider.patch("/users/me", { handle: `newer-${rider.id}` })
        ])
      )
      assert.deepStrictEqual(statuses.map(({ status }) => status), [200, 200])
    }))

  it.effect("refuse a route for a collection that is erased meanwhile", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [kept, erased] = [yield* makeRoute(rider), yield* makeRoute(rider)]
      const { id } = yield* make(rider, {})
      const call = yield* whileLocked(
        (sql) => sql`SELECT FROM routes WHERE id = ${kept} FOR UPDATE`,
        Effect.gen(function*() {
          const call = yield* Effect.forkChild(
            rider.call("PUT", `/collections/${id}/routes`, { body: { routeIds: [kept, erased] } })
          )
          yield* untilLocked(1)
          yield* rider.delete(`/routes/${erased}`)
          yield* rider.delete(`/routes/deleted/${erased}`)
          return call
        })
      )
      const { body, status } = yield* Fiber.join(call)
      assert.strictEqual(status, 404)
      assert.deepInclude(body, { details: { routeIds: [erased] } })
    }))

  it.effect("keep each route of an archive whose source another takes while it is stored", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const other = yield* signedIn
      yield* makeRoute(other, { name: "One", ...source("7") })
      yield* makeRoute(other, { name: "Two", ...source("8"), ...elsewhere })
      const files = yield* filesOf(other)
      const ofOneSource = (files["routes.json"] ?? "").replace("\"externalId\":\"8\"", "\"externalId\":\"7\"")
      const archive = yield* sealed({ ...files, "routes.json": ofOneSource })
      const rider = yield* signedIn
      const statuses = yield* together(
        (sql) => sql`SELECT FROM route_usage WHERE user_id = ${rider.id} FOR UPDATE`,
        rider.post("/routes", newRoute({ name: "Posted", ...source("7"), geometry: [[2, 2], [2.1, 2.1]] })),
        imported(rider, archive)
      )
      assert.deepStrictEqual(statuses, [201, 201])
      const names = yield* sql<{ name: string }>`SELECT name FROM routes WHERE user_id = ${rider.id} ORDER BY name`
      assert.deepStrictEqual(names.map(({ name }) => name), ["One", "Posted", "Two"])
    }))
})
