import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schedule, Schema } from "effect"
import { type Actor, anonymous, signedIn } from "../support/Actors.ts"
import {
  caughtUp,
  cluster,
  END_HELD,
  holdCommits,
  type Member,
  promote,
  query,
  releaseCommits
} from "../support/Cluster.ts"
import { sampled } from "../support/Connections.ts"
import { databaseProxy } from "../support/DatabaseProxy.ts"
import { created, newRoute } from "../support/Routes.ts"
import { type Answer, TestServer } from "../support/TestServer.ts"
import { untilFound, within } from "../support/Waiting.ts"
import { setZones } from "../support/Zones.ts"

const CONFIG = { DATABASE_POOL_SIZE: "4" }

/** A planned failover may take seconds, of which the service adds these. */
const SOON = 3000

const Feed = Schema.Struct({ changes: Schema.Array(Schema.Unknown), cursor: Schema.String })

const feedOf = ({ body }: Answer) => Effect.orDie(Schema.decodeUnknownEffect(Feed)(body))

const cursorOf = Effect.fnUntraced(function*(actor: Pick<Actor, "get">) {
  return (yield* feedOf(yield* actor.get("/sync"))).cursor
})

const stored = (rider: Pick<Actor, "post">) =>
  within(SOON)(untilFound(rider.post("/routes", newRoute({})), ({ status }) => status === 201))

const statuses = (answers: ReadonlyArray<Answer>) => [...new Set(answers.map(({ status }) => status))]

const readiness = Effect.map(Effect.flatMap(anonymous, (visitor) => visitor.get("//health/ready")), ({ body }) => body)

const refused = ({ headers, status }: Answer) => {
  assert.strictEqual(status, 503)
  assert.strictEqual(headers.get("retry-after"), "1")
}

const several = (members: ReadonlyArray<Member>, attributes = "read-write") => {
  const [first] = members
  const url = new URL(first?.url ?? "")
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`).join(",")
  return `postgres://${url.username}:${url.password}@${hosts}${url.pathname}?target_session_attrs=${attributes}`
}

it.live(
  "a server that takes no writes is read on, and is left once the address leads to the primary again",
  () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* cluster
      const { proxy, url } = yield* databaseProxy(primary.url)
      yield* Effect.gen(function*() {
        const copy = yield* standby(primary, "copy")
        const rider = yield* signedIn
        yield* stored(rider)
        const cursor = yield* cursorOf(rider)
        yield* caughtUp(primary, copy)

        proxy.lead(copy.port)
        proxy.cut()
        const written = yield* untilFound(rider.post("/routes", newRoute({})), ({ body }) =>
          typeof body === "object" && body !== null && "message" in body
          && body.message === "The database takes no writes at the moment")
        refused(written)
        refused(yield* rider.post("/routes", newRoute({}), { headers: { "idempotency-key": "refused" } }))
        refused(yield* rider.get("/sync"))
        assert.deepStrictEqual(
          statuses(yield* Effect.replicateEffect(rider.get("/routes"), 10, { concurrency: 5 })),
          [200]
        )
        assert.deepInclude(yield* readiness, { status: "ok", database: "read-only" })
        yield* untilFound(sampled("database_read_only"), (value) =>
          value === 1)

        // The connections to the standby stay open.
        proxy.lead(primary.port)
        yield* stored(rider)
        assert.deepStrictEqual(
          statuses(yield* Effect.replicateEffect(rider.post("/routes", newRoute({})), 10, { concurrency: 5 })),
          [201]
        )
        yield* untilFound(readiness, (body) =>
          typeof body === "object" && body !== null && "database" in body && body.database === "ok")

        // A promotion in place loses nothing, so cursors live on; the old primary is not used again.
        yield* caughtUp(primary, copy)
        proxy.lead(copy.port)
        proxy.cut()
        yield* promote(copy)
        yield* stored(rider)
        // A transaction may end with the first look at the new timeline.
        const after = yield* untilFound(rider.get(`/sync?cursor=${cursor}`), ({ status }) =>
          status === 200)
        assert.lengthOf((yield* feedOf(after)).changes, 12)
        proxy.lead(primary.port)
        proxy.cut()
        const refusedByAll = yield* Effect.replicateEffect(rider.post("/routes", newRoute({})), 5)
        refusedByAll.forEach(refused)
        const [row] = yield* query(primary.url, "SELECT count(*)::int AS routes FROM routes")
        assert.deepStrictEqual(row, { routes: 12 })
      }).pipe(Effect.provide(TestServer.on(url, CONFIG)))
    }).pipe(Effect.scoped)
)

it.live(
  "of several hosts the one that takes writes is used, also by a start before there is one",
  () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* cluster
      const copy = yield* standby(primary, "copy")
      yield* caughtUp(primary, copy)
      yield* Effect.gen(function*() {
        const rider = yield* signedIn
        yield* stored(rider)
        yield* caughtUp(primary, copy)
        const polls = yield* Effect.forkChild(
          Effect.replicateEffect(rider.post("/routes", newRoute({})), 100, { concurrency: 2 })
        )
        yield* primary.stop
        yield* untilFound(
          readiness,
          (body) => typeof body === "object" && body !== null && "database" in body && body.database === "read-only"
        )
        assert.deepStrictEqual(statuses(yield* Effect.replicateEffect(rider.get("/routes"), 10)), [200])
        refused(yield* rider.post("/routes", newRoute({})))
        yield* promote(copy)
        yield* stored(rider)
        assert.notInclude(statuses(yield* Fiber.join(polls)), 500)
      }).pipe(Effect.provide(TestServer.on(several([copy, primary]), CONFIG)))

      const next = yield* standby(copy, "next")
      yield* caughtUp(copy, next)
      yield* copy.stop
      const starting = yield* Effect.forkChild(
        signedIn.pipe(Effect.flatMap(stored), Effect.provide(TestServer.on(next.url, CONFIG)))
      )
      yield* Effect.sleep("1 second")
      assert.isUndefined(starting.pollUnsafe())
      yield* promote(next)
      assert.strictEqual((yield* Fiber.join(starting)).status, 201)
    }).pipe(Effect.scoped)
)

it.live(
  "without a primary reads go on at the standby that has replayed the most",
  () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* cluster
      const [stale, fresh] = [yield* standby(primary, "stale"), yield* standby(primary, "fresh")]
      yield* caughtUp(primary, stale)
      yield* query(stale.url, "SELECT pg_wal_replay_pause()")
      yield* Effect.gen(function*() {
        const rider = yield* signedIn
        const { body } = yield* stored(rider)
        yield* caughtUp(primary, fresh)
        yield* primary.stop
        const path = `/routes/${created(body).id}`
        yield* within(SOON)(untilFound(rider.get(path), ({ status }) => status === 200))
        assert.deepStrictEqual(statuses(yield* Effect.replicateEffect(rider.get(path), 20)), [200])
      }).pipe(Effect.provide(TestServer.on(several([stale, primary, fresh]), CONFIG)))
    }).pipe(Effect.scoped)
)

it.live(
  "without a primary a standby that lacks what was stored refuses it for a time, and never says that it does not exist",
  () =>
    Effect.gen(function*() {
      const { primary, standby } = yield* cluster
      const copy = yield* standby(primary, "copy")
      yield* Effect.gen(function*() {
        const rider = yield* signedIn
        const { body: old } = yield* stored(rider)
        yield* caughtUp(primary, copy)
        yield* query(copy.url, "SELECT pg_wal_replay_pause()")
        const { body: young } = yield* stored(rider)
        const newcomer = yield* signedIn
        const paths = [old, young].map((body) => `/routes/${created(body).id}`)
        const [known = "", unknown = ""] = paths
        yield* untilFound(
          query(primary.url, "SELECT FROM pg_stat_replication WHERE flush_lsn >= pg_current_wal_flush_lsn()"),
          (rows) => rows.length === 1
        )
        yield* primary.stop
        const seen = yield* Effect.forkChild(
          Effect.repeat(rider.get(unknown), {
            schedule: Schedule.spaced("20 millis"),
            until: ({ status }) => status !== 503
          })
        )
        // Once reads go on there, they still cannot tell.
        yield* untilFound(rider.get(known), ({ status }) => status === 200)
        refused(yield* rider.get(unknown))
        refused(yield* newcomer.get("/routes"))
        assert.isEmpty((yield* newcomer.get("/routes/public")).headers.getSetCookie())
        assert.strictEqual((yield* rider.get("/nowhere")).status, 404)
        assert.strictEqual((yield* newcomer.get("//r/0123456789abcdef0123456789abcdef")).status, 503)
        assert.strictEqual((yield* newcomer.get("//me/routes")).status, 503)
        yield* query(copy.url, "SELECT pg_wal_replay_resume()")
        assert.strictEqual((yield* Fiber.join(seen)).status, 200)
        assert.strictEqual((yield* newcomer.get("/routes")).status, 200)
      }).pipe(Effect.provide(TestServer.on(several([primary, copy]), CONFIG)))
    }).pipe(Effect.scoped)
)

it.live(
  "while commits wait for a standby that is away, reads go on, also those that note the use of a credential",
  () =>
    Effect.gen(function*() {
      const { primary } = yield* cluster
      yield* Effect.gen(function*() {
        const riders = yield* Effect.replicateEffect(signedIn, 5)
        yield* Effect.forEach(riders, stored)
        const owner = yield* signedIn
        const { shareToken } = created((yield* owner.post("/routes", newRoute({ visibility: "unlisted" }))).body)
        yield* setZones(owner, [{ center: [9.5, 47.1], radius: 500 }])
        yield* query(primary.url, "UPDATE route_views SET cut_version = 0")
        yield* query(primary.url, "UPDATE sessions SET last_seen_at = '2020-01-01'")
        yield* holdCommits(primary)
        const writes = yield* Effect.forkScoped(
          Effect.forEach(riders, (rider) => rider.post("/routes", newRoute({})), { concurrency: "unbounded" })
        )
        // Three of four connections may have a transaction. Commits with a notification wait for each other.
        yield* untilFound(
          query(primary.url, "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' OR wait_event_type = 'Lock'"),
          (rows) => rows.length >= 3
        )
        const reads = yield* Effect.forEach(riders, (rider) => Effect.replicateEffect(rider.get("/routes"), 20), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(statuses(reads.flat()), [200])
        const visitor = yield* anonymous
        assert.strictEqual((yield* visitor.get(`/routes/${shareToken}`)).status, 200, "its view is made")
        yield* releaseCommits(primary)
        assert.includeMembers([201, 503], statuses(yield* Fiber.join(writes)))
        yield* Effect.forEach(riders, stored)
      }).pipe(Effect.provide(TestServer.on(primary.url, CONFIG)))
    }).pipe(Effect.scoped)
)

it.live(
  "a commit without a response is 503 that says so, and a repeat under its key has one effect",
  () =>
    Effect.gen(function*() {
      const { primary } = yield* cluster
      yield* Effect.gen(function*() {
        const rider = yield* signedIn
        const store = rider.post("/routes", newRoute({}), { headers: { "idempotency-key": "unconfirmed" } })
        yield* holdCommits(primary)
        const waiting = yield* Effect.forkChild(store)
        yield* untilFound(query(primary.url, END_HELD), (rows) => rows.length > 0)
        const answer = yield* Fiber.join(waiting)
        refused(answer)
        assert.include(answer.text, "The database did not confirm the change, which may be stored")
        yield* releaseCommits(primary)
        yield* untilFound(store, ({ status }) => status === 201)
        assert.strictEqual((yield* rider.get("/routes")).headers.get("x-total-count"), "1")
      }).pipe(Effect.provide(TestServer.on(primary.url, CONFIG)))
    }).pipe(Effect.scoped)
)

it.live(
  "a cursor is void where a promotion or a copy lost what its client has seen, and only there",
  () =>
    Effect.gen(function*() {
      const { copied, primary, standby } = yield* cluster
      const behind = yield* Effect.gen(function*() {
        const rider = yield* signedIn
        yield* stored(rider)
        const kept = yield* cursorOf(rider)
        const copy = yield* standby(primary, "copy")
        yield* caughtUp(primary, copy)
        yield* query(copy.url, "ALTER SYSTEM SET primary_conninfo = ''")
        yield* query(copy.url, "SELECT pg_reload_conf()")
        yield* untilFound(
          query(primary.url, "SELECT FROM pg_stat_replication"),
          (rows) => rows.length === 0
        )
        const physical = yield* copied(primary, "physical")
        yield* stored(rider)
        return { copy, cookie: rider.cookie, kept, lost: yield* cursorOf(rider), physical }
      }).pipe(Effect.provide(TestServer.on(primary.url, CONFIG)))

      yield* promote(behind.copy)
      for (const { url } of [behind.copy, behind.physical]) {
        yield* Effect.gen(function*() {
          const server = yield* TestServer
          const headers = { cookie: behind.cookie }
          const sync = (cursor: string) => server.call("GET", `/sync?cursor=${cursor}`, { headers })
          assert.strictEqual((yield* sync(behind.lost)).status, 410)
          // They are as many changes as were lost, and one more.
          for (const n of [1, 2]) {
            const { status } = yield* server.call("POST", "/routes", { body: newRoute({ name: `${n}` }), headers })
            assert.strictEqual(status, 201)
            assert.strictEqual((yield* server.call("GET", "/sync", { headers })).status, 200)
          }
          assert.strictEqual((yield* sync(behind.lost)).status, 410)
          const kept = yield* sync(behind.kept)
          assert.strictEqual(kept.status, 200)
          assert.lengthOf((yield* feedOf(kept)).changes, 2)
        }).pipe(Effect.provide(TestServer.on(url, CONFIG)))
      }
    }).pipe(Effect.scoped)
)
