import { assert, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Schema } from "effect"
import { jsonLogger } from "../../src/layers/Logging.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { caughtUp, cluster, directoryOf, query } from "../support/Cluster.ts"
import { freezing } from "../support/OwnPostgres.ts"
import { line, list, publish } from "../support/PublicRoutes.ts"
import { created, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until, within } from "../support/Waiting.ts"
import { setZones } from "../support/Zones.ts"

const primaryWithStandby = Effect.gen(function*() {
  const { primary, standby } = yield* cluster
  return { primary, standby: yield* standby(primary, "standby") }
})

class Servers extends Context.Service<Servers, Effect.Success<typeof primaryWithStandby>>()("test/Servers") {}

const serversLayer = Layer.effect(Servers, primaryWithStandby)

/** Starts the service with a replica that may be behind for so long. */
const serviceWith = (lag: string) =>
  Layer.unwrap(
    Effect.map(Servers, ({ primary, standby }) =>
      TestServer.on(primary.url, { DATABASE_READ_URL: standby.url, DATABASE_READ_MAX_LAG: lag }))
  )

const START = [9.5, 47.1]

const rowsIn = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ id: Schema.Int, geometry: Schema.Array(Schema.Array(Schema.Finite)) }))
)

const PUBLIC = "gate=public&limit=100"

/** Returns how many reads of replicas had an outcome. */
const reads = (outcome: "changed" | "served" | "unserved") =>
  Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")).pipe(Effect.map(({ text }) => {
    const found = new RegExp(`^database_replica_reads_total\\{outcome="${outcome}"\\} (\\d+)`, "m").exec(text)
    return Number(found?.[1] ?? 0)
  }))

const counting = <A, E, R>(outcome: "changed" | "served" | "unserved", work: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const before = yield* reads(outcome)
    const result = yield* work
    return { result, count: (yield* reads(outcome)) - before }
  })

/** The list is what it is on the primary, and a replica has found it. */
const untilServed = until(Effect.map(counting("served", list(PUBLIC)), ({ count }) => count > 0))

const untilReplayed = (id: number) =>
  Effect.flatMap(Servers, ({ standby }) =>
    until(Effect.map(
      query(standby.url, `SELECT FROM routes WHERE id = ${id} AND visibility = 'public' AND deleted_at IS NULL`),
      (rows) => rows.length === 1
    )))

/**
 * Changes that are committed meanwhile do not appear on the standby. The replay goes on afterwards, also where the work
 * fails.
 */
const whilePaused = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Servers, ({ standby }) =>
    Effect.acquireUseRelease(
      query(standby.url, "SELECT pg_wal_replay_pause()"),
      () => work,
      () => query(standby.url, "SELECT pg_wal_replay_resume()")
    ))

layer(Layer.provideMerge(serviceWith("1 minute"), serversLayer), {
  excludeTestServices: true
})("reads from a replica", (it) => {
  it.effect("serve lists of strangers there, as the primary has them, and those of callers with a credential here", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id } = yield* publish(rider, {})
      yield* untilReplayed(id)
      yield* untilServed
      const { count, result } = yield* counting("served", list(PUBLIC))
      assert.include(result, id)
      assert.isAbove(count, 0)
      const visitor = yield* anonymous
      for (const path of [`/routes/public?${PUBLIC}&bbox=9,47,10,48`, `/routes/by-user/${rider.id}`]) {
        const served = yield* counting("served", visitor.get(path))
        assert.strictEqual(served.result.status, 200)
        assert.isAbove(served.count, 0, path)
        const own = yield* counting("served", rider.get(path))
        assert.strictEqual(own.count, 0, path)
        assert.deepStrictEqual(own.result.body, served.result.body)
      }
    }))

  it.effect("show nothing that was hidden, at once and however far the replica is behind", () =>
    Effect.gen(function*() {
      const visitor = yield* anonymous
      const riders = yield* Effect.forEach([1, 2, 3, 4], () => signedIn)
      const published = yield* Effect.forEach(
        riders,
        (rider, n) => Effect.map(publish(rider, { name: `Hidden ${n}` }), ({ id }) => ({ id, rider }))
      )
      yield* Effect.forEach(published, ({ id }) => untilReplayed(id))
      yield* untilServed
      yield* whilePaused(Effect.gen(function*() {
        const [made, deleted, left, zoned] = published
        if (made === undefined || deleted === undefined || left === undefined || zoned === undefined) return
        const hide = Effect.fnUntraced(function*(work: Effect.Effect<{ readonly status: number }>) {
          assert.isBelow((yield* work).status, 300)
          return yield* counting("changed", visitor.get(`/routes/public?${PUBLIC}&geometry=full`))
        })
        const lists = [
          yield* hide(made.rider.patch(`/routes/${made.id}`, { visibility: "private" })),
          yield* hide(deleted.rider.delete(`/routes/${deleted.id}`)),
          yield* hide(left.rider.delete("/users/me")),
          yield* hide(setZones(zoned.rider, [{ center: START, radius: 500 }]))
        ]
        lists.forEach(({ count, result }, n) => {
          const hidden = new Set(published.slice(0, Math.min(n + 1, 3)).map(({ id }) => id))
          assert.deepStrictEqual(rowsIn(result.body).filter(({ id }) => hidden.has(id)), [])
          assert.isAbove(count, 0)
        })
        const cut = rowsIn(lists.at(-1)?.result.body).find(({ id }) => id === zoned.id)
        assert.isAbove(cut?.geometry.length ?? 0, 0)
        assert.notDeepEqual(cut?.geometry[0], START)
      }))
    }))

  it.effect("go on without a primary, for what is public", () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* Servers
      const visitor = yield* anonymous
      const rider = yield* signedIn
      const shown = yield* publish(rider, { name: "Shown" })
      const unlisted = created(
        (yield* rider.post("/routes", newRoute({ visibility: "unlisted", geometry: line([9.5, 47.1], [9.6, 47.2]) })))
          .body
      )
      const collection = created(
        (yield* rider.post("/collections", { name: "Shown", visibility: "public", routeIds: [shown.id] })).body
      )
      const shared = created((yield* rider.post("/collections", { name: "Shared", visibility: "unlisted" })).body)
      const due = yield* publish(rider, { name: "Due" })
      yield* setZones(rider, [{ center: START, radius: 500 }])
      const views = `SELECT FROM route_views WHERE route_id IN (${shown.id}, ${due.id})`
      yield* until(Effect.map(query(primary.url, views), (rows) => rows.length === 2))
      yield* untilServed
      // Without a primary none is made in its place.
      yield* query(primary.url, `DELETE FROM route_views WHERE route_id = ${due.id}`)
      yield* until(Effect.map(query(standby.url, views), (rows) => rows.length === 1))
      yield* primary.stop
      yield* until(Effect.map(rider.get("/routes"), ({ status }) => status === 503))
      const paths = [
        `/routes/public?${PUBLIC}`,
        `/routes/public?${PUBLIC}&q=shown`,
        "/routes/public?gate=public",
        `/routes/by-user/${rider.id}`,
        `/collections/by-user/${rider.id}`,
        `/collections/${collection.id}`,
        `/routes/${shown.id}`,
        `/routes/${shown.shareToken}`,
        `/routes/${shown.id}/picture.svg`,
        `//r/${shown.shareToken}`,
        "//sitemap.xml"
      ]
      for (const path of paths) assert.strictEqual((yield* visitor.get(path)).status, 200, path)
      // A share token may be one that no replica has yet.
      for (const token of [unlisted.shareToken, shared.shareToken, "0123456789abcdef0123456789abcdef"]) {
        for (const path of [`/routes/${token}`, `/collections/${token}`, `/collections/${token}/routes`]) {
          assert.strictEqual((yield* visitor.get(path)).status, 503, path)
        }
      }
      for (const path of ["/users/nobody-here", "//u/nobody-here", "/routes/999999", "/collections/999999"]) {
        assert.strictEqual((yield* visitor.get(path)).status, 503, path)
      }
      assert.strictEqual((yield* rider.get(`/routes/public?${PUBLIC}`)).status, 503)
    }))
})

const logged: Array<string> = []

const recording = Logger.layer([Logger.map(jsonLogger, (line) => logged.push(line))])

layer(serviceWith("1 second").pipe(Layer.provideMerge(serversLayer), Layer.provide(recording)), {
  excludeTestServices: true
})("a replica that is behind or away", (it) => {
  it.effect("serves no list until it has caught up", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* publish(rider, {})
      yield* untilServed
      yield* whilePaused(Effect.gen(function*() {
        const { id } = yield* publish(rider, {})
        yield* until(Effect.map(list(PUBLIC), (ids) => ids.includes(id)))
        assert.isAbove((yield* counting("unserved", list(PUBLIC))).count, 0)
      }))
      yield* untilServed
    }))

  it.effect("leaves all lists to the primary while it is away, and the log has the reason", () =>
    Effect.gen(function*() {
      const { standby } = yield* Servers
      const rider = yield* signedIn
      yield* untilServed
      yield* standby.stop
      const { id } = yield* publish(rider, {})
      assert.include(yield* list(PUBLIC), id)
      yield* until(Effect.map(counting("unserved", list(PUBLIC)), ({ count }) => count > 0))
      yield* until(Effect.sync(() => logged.some((line) => line.includes("read replica away"))))
      assert.match(logged.join("\n"), /read replica away.*(terminating connection|Connection closed|ECONNREFUSED)/)
    }))
})

it.live(
  "a primary that is named among the replicas is none of them, and has no lag that is an alarm",
  () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* cluster
      const replica = yield* standby(primary, "standby")
      yield* Effect.gen(function*() {
        yield* publish(yield* signedIn, {})
        yield* untilServed
        const lagOf = (number: number) =>
          Effect.map(Effect.flatMap(anonymous, (visitor) => visitor.get("//metrics")), ({ text }) =>
            Number(
              new RegExp(`^database_replica_lag_seconds\\{replica="${number}"\\} (\\S+)`, "m").exec(text)?.[1] ?? -1
            ))
        yield* until(Effect.map(lagOf(2), (lag) => lag >= 0))
        yield* until(Effect.map(lagOf(1), Number.isNaN))
        yield* primary.stop
        yield* until(Effect.map(lagOf(1), (lag) => lag === -1))
      }).pipe(Effect.provide(TestServer.on(primary.url, { DATABASE_READ_URL: `${primary.url},${replica.url}` })))
    }).pipe(Effect.scoped)
)

it.live(
  "of several replicas those that respond are used, and without one the primary serves",
  () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* cluster
      const [one, other] = [yield* standby(primary, "one"), yield* standby(primary, "other")]
      const frozen = yield* freezing(yield* directoryOf(one))
      const alsoFrozen = yield* freezing(yield* directoryOf(other))
      yield* Effect.gen(function*() {
        const { id } = yield* publish(yield* signedIn, {})
        yield* caughtUp(primary, one)
        yield* caughtUp(primary, other)
        yield* untilServed
        const lists = Effect.replicateEffect(within(3000)(list(PUBLIC)), 10)
        const found = (ids: ReadonlyArray<ReadonlyArray<number>>) =>
          ids.forEach((each) => assert.deepStrictEqual(each, [id]))

        yield* frozen.freeze
        found(yield* lists)
        yield* until(Effect.map(counting("served", lists), ({ count }) => count >= 10))
        yield* alsoFrozen.freeze
        found(yield* lists)
        yield* until(Effect.map(counting("unserved", lists), ({ count }) => count >= 10))
        yield* frozen.thaw
        yield* untilServed
      }).pipe(Effect.provide(TestServer.on(primary.url, {
        DATABASE_READ_URL: `${one.url},${other.url}`,
        DATABASE_READ_MAX_LAG: "1 second"
      })))
    }).pipe(Effect.scoped)
)
