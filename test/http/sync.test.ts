import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Exit, Fiber, Layer, Ref, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { UserId } from "../../src/schema/Ids.ts"
import { WaitingLimits } from "../../src/services/sync/ChangeFeed.ts"
import { changeNumbers } from "../../src/services/sync/ChangeNumbers.ts"
import { type Actor, type Rider, signedIn, withHeaders } from "../support/Actors.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { areWaiting, assertCopied, catchUp, emptyCopy, pageIn, readPage } from "../support/Copies.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until, untilSwept } from "../support/Waiting.ts"

const changesIn = (body: unknown) => pageIn(body).changes.map(({ change, id, type }) => [type, id, change])

/** Returns a copy of what a rider has, up to now. */
const copied = Effect.fnUntraced(function*(rider: Rider) {
  const copy = yield* Ref.make(emptyCopy)
  yield* catchUp(rider, copy)
  return copy
})

const cursorOf = Effect.fnUntraced(function*(rider: Rider, query = "") {
  return pageIn((yield* rider.get(`/sync?limit=200&${query}`)).body).cursor
})

/** Makes collections of a rider that list all of the routes. */
const listedBy = ({ id }: Rider, count: number, routeIds: ReadonlyArray<number>) =>
  SqlClient.SqlClient.use((sql) =>
    sql`
      WITH made AS (
        INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
        SELECT ${id}, 'Of others', 'private', md5(${id} || ' lists ' || n), now(), now() FROM generate_series(1, ${count}) n
        RETURNING id
      )
      INSERT INTO collection_routes (collection_id, route_id, position)
      SELECT made.id, route, 1 FROM made, unnest(${routeIds}::bigint[]) route`
  )

const publicRoute = (rider: Rider) => makeRoute(rider, { visibility: "public" })

/** Returns in how many transactions an effect numbers changes of a rider. */
const numberingsOf = <E, R>({ id }: Rider, effect: Effect.Effect<unknown, E, R>) =>
  SqlClient.SqlClient.use(Effect.fnUntraced(function*(sql) {
    yield* sql`CREATE TABLE numberings (number bigint)`
    yield* sql`
      CREATE FUNCTION note_numbering() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO numberings VALUES (new.last); RETURN new; END $$`
    yield* sql`
      CREATE TRIGGER note_numbering AFTER UPDATE OF last ON change_counters FOR EACH ROW
      WHEN (new.user_id = ${sql.literal(String(id))} AND new.last > old.last) EXECUTE FUNCTION note_numbering()`
    yield* effect
    const noted = yield* sql`SELECT FROM numberings`
    yield* sql`DROP FUNCTION note_numbering CASCADE`
    yield* sql`DROP TABLE numberings`
    return noted.length
  }))

const waitingFor = (actor: Actor, cursor: string, seconds = 30) =>
  Effect.forkChild(actor.get(`/sync?cursor=${cursor}&wait=${seconds}`))

layer(TestServer.withSweeps())("the change feed", (it) => {
  it.effect("reads an account in pages, then each change once in its newest state", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const [first, second, third] = [yield* makeRoute(rider), yield* makeRoute(rider), yield* makeRoute(rider)]
      const collection = yield* make(rider, { routeIds: [first, second] })
      const copy = yield* Ref.make(emptyCopy)
      const pages = [yield* readPage(rider, copy, "limit=2"), yield* readPage(rider, copy, "limit=2")]
      assert.deepStrictEqual(pages.map(({ changes, hasMore }) => [changes.length, hasMore]), [[2, true], [2, false]])
      yield* assertCopied(rider, copy)

      yield* rider.patch(`/routes/${third}`, { name: "Once" })
      yield* rider.patch(`/routes/${third}`, { name: "Twice" })
      yield* rider.delete(`/routes/${first}`)
      const { body } = yield* rider.get(`/sync?cursor=${pages[1]?.cursor}&geometry=none`)
      assert.deepStrictEqual(changesIn(body), [
        ["route", third, "upserted"],
        ["route", first, "deleted"],
        ["collection", collection.id, "upserted"]
      ])
      assert.strictEqual(pageIn(body).changes[0]?.version, 3)
      yield* catchUp(rider, copy)
      yield* assertCopied(rider, copy)

      yield* rider.post(`/routes/${first}/restore`)
      const restored = yield* readPage(rider, copy)
      assert.deepStrictEqual(restored.changes.map(({ change, id }) => [id, change]), [
        [first, "upserted"],
        [collection.id, "upserted"]
      ])
      yield* assertCopied(rider, copy)
    }))

  it.effect("reads only what is included, and waits for nothing else", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const collection = yield* make(rider)
      const cursor = yield* cursorOf(rider, "include=collections")
      yield* makeRoute(rider)
      const none = pageIn((yield* rider.get(`/sync?include=collections&cursor=${cursor}`)).body)
      assert.deepStrictEqual([none.changes, none.hasMore], [[], false])
      yield* rider.patch(`/collections/${collection.id}`, { name: "Winter" })
      const { body } = yield* rider.get(`/sync?include=collections&cursor=${none.cursor}`)
      assert.deepStrictEqual(changesIn(body), [["collection", collection.id, "upserted"]])
    }))

  it.effect("returns the change of a transaction that began before another and committed after it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      const [slow, fast] = [yield* makeRoute(rider), yield* makeRoute(rider)]
      const copy = yield* copied(rider)
      yield* Effect.gen(function*() {
        yield* sql`UPDATE routes SET name = 'Slow', version = version + 1 WHERE id = ${slow}`
        yield* rider.patch(`/routes/${fast}`, { name: "Fast" })
        assert.deepStrictEqual((yield* readPage(rider, copy)).changes.map(({ id }) => id), [fast])
      }).pipe(sql.withTransaction)
      assert.deepStrictEqual((yield* readPage(rider, copy)).changes.map(({ id }) => id), [slow])
      yield* assertCopied(rider, copy)
    }))

  it.effect("has a collection to which a route of others was added while their account was being deleted", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const routeId = yield* makeRoute(bob, { visibility: "public" })
      const { id } = yield* make(ada, {})
      const copy = yield* copied(ada)
      yield* sql`
        CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END $$`
      yield* sql`
        CREATE TRIGGER wait BEFORE INSERT ON audit_events FOR EACH ROW
        WHEN (new.event = 'account.deletion_requested') EXECUTE FUNCTION wait_for_test()`
      const deletion = yield* whileLocked(
        (sql) => sql`SELECT pg_advisory_xact_lock(1)`,
        Effect.gen(function*() {
          const waiting = yield* Effect.forkChild(bob.delete("/users/me"))
          yield* untilLocked(1)
          assert.strictEqual((yield* ada.post(`/collections/${id}/routes`, { routeId })).status, 200)
          yield* catchUp(ada, copy)
          return waiting
        })
      )
      assert.strictEqual((yield* Fiber.join(deletion)).status, 200)
      yield* sql`DROP FUNCTION wait_for_test CASCADE`
      yield* catchUp(ada, copy)
      yield* assertCopied(ada, copy)
    }))

  it.effect("passes on to many collections of others a few at a time, whether a route or an account is hidden", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [ada, bob, eve] = [yield* signedIn, yield* signedIn, yield* signedIn]
      const routeIds = yield* Effect.replicateEffect(publicRoute(bob), 12)
      yield* listedBy(ada, 150, routeIds)
      yield* listedBy(eve, 900, routeIds)
      const copy = yield* copied(ada)
      yield* cursorOf(bob)
      const pendingOf = (...users: ReadonlyArray<Rider>) =>
        Effect.map(
          sql`SELECT FROM pending_changes WHERE user_id = ANY(${users.map(({ id }) => id)}::bigint[])`,
          ({ length }) => length
        )
      const before = yield* pendingOf(ada, eve)
      yield* bob.patch(`/routes/${routeIds[0]}`, { visibility: "private" })
      assert.strictEqual((yield* pendingOf(ada, eve)) - before, 100)
      assert.strictEqual(yield* numberingsOf(bob, cursorOf(bob)), 1)
      yield* catchUp(ada, copy)
      yield* assertCopied(ada, copy)
      yield* bob.patch(`/routes/${routeIds[0]}`, { visibility: "public" })

      const operations = routeIds.map((id) => ({ op: "update", id, changes: { visibility: "private" } }))
      assert.strictEqual((yield* bob.post("/routes/batch", { operations })).status, 200)
      assert.strictEqual(yield* numberingsOf(bob, cursorOf(bob)), 2)
      yield* catchUp(ada, copy)
      yield* assertCopied(ada, copy)

      assert.strictEqual((yield* bob.delete("/users/me")).status, 200)
      assert.strictEqual(yield* pendingOf(bob), 12)
      const numbers = yield* changeNumbers
      yield* numbers.number(UserId.make(bob.id), yield* DateTime.nowAsDate)
      yield* catchUp(ada, copy)
      yield* assertCopied(ada, copy)
    }))

  it.effect("has all collections of a route that is erased before its deletion has a number", () =>
    Effect.gen(function*() {
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const [first, second] = [yield* publicRoute(bob), yield* publicRoute(bob)]
      yield* listedBy(ada, 150, [first, second])
      yield* listedBy(bob, 3, [first, second])
      const copies = [[ada, yield* copied(ada)], [bob, yield* copied(bob)]] as const
      yield* bob.delete(`/routes/${first}`)
      assert.strictEqual((yield* bob.delete(`/routes/deleted/${first}`)).status, 200)
      yield* bob.delete(`/routes/${second}`)
      assert.strictEqual((yield* bob.delete("/routes/deleted")).status, 200)
      for (const [rider, copy] of copies) {
        yield* catchUp(rider, copy)
        yield* assertCopied(rider, copy)
      }
    }))

  it.effect("numbers many routes that are deleted at once", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      const routeIds = yield* Effect.replicateEffect(makeRoute(rider), 30, { concurrency: 4 })
      yield* listedBy(rider, 3, routeIds)
      yield* cursorOf(rider)
      yield* sql`UPDATE routes SET deleted_at = now() WHERE user_id = ${rider.id}`
      assert.strictEqual(yield* numberingsOf(rider, cursorOf(rider)), 1)
    }))

  it.effect("refuses what is no cursor of this account and these types, with all issues", () =>
    Effect.gen(function*() {
      const [rider, other] = [yield* signedIn, yield* signedIn]
      const cursor = yield* cursorOf(rider)
      const tampered = `${cursor.slice(0, -2)}${cursor.endsWith("A") ? "BB" : "AA"}`
      const answers = [
        yield* other.get(`/sync?cursor=${cursor}`),
        yield* rider.get(`/sync?include=routes&cursor=${cursor}`),
        yield* rider.get(`/sync?cursor=${tampered}`),
        yield* rider.get("/sync?cursor=.&limit=0&wait=31&include=all&geometry=no&since=1")
      ]
      assert.deepStrictEqual(answers.map(({ status }) => status), [400, 400, 400, 400])
      const issues = JSON.stringify(answers[3]?.body)
      for (const path of ["cursor", "limit", "wait", "include", "geometry", "since"]) {
        assert.include(issues, `"path":"query.${path}"`)
      }
    }))

  it.effect("expires cursors of an earlier version that another secret signed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const bytes = Buffer.from(yield* cursorOf(rider), "base64url")
      const text = bytes.subarray(16).toString().replace(/,"key":"[^"]*"/, "")
      const earlier = Buffer.concat([bytes.subarray(0, 16), Buffer.from(text)]).toString("base64url")
      assert.strictEqual((yield* rider.get(`/sync?cursor=${earlier}`)).status, 410)
    }))

  it.effect("expires cursors after the database was replaced or went back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      const id = yield* makeRoute(rider)
      const cursor = yield* cursorOf(rider)
      yield* rider.patch(`/routes/${id}`, { name: "Later" })
      const ahead = pageIn((yield* rider.get(`/sync?cursor=${cursor}`)).body).cursor
      yield* sql`UPDATE change_counters SET last = last - 1 WHERE user_id = ${rider.id}`
      const { body, status } = yield* rider.get(`/sync?cursor=${ahead}`)
      assert.strictEqual(status, 410)
      assert.deepInclude(body, { statusCode: 410, code: "NOT_FOUND", details: { reason: "cursor_expired" } })
      yield* sql`UPDATE change_counters SET last = last + 1 WHERE user_id = ${rider.id}`
      assert.strictEqual((yield* rider.get(`/sync?cursor=${ahead}`)).status, 200)
      yield* sql`UPDATE change_epochs SET epoch = gen_random_uuid()`
      assert.strictEqual((yield* rider.get(`/sync?cursor=${ahead}`)).status, 410)
    }))

  it.effect("has the last version of a route that is new, edited and erased between two reads", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const before = yield* cursorOf(rider)
      const id = yield* makeRoute(rider)
      yield* rider.patch(`/routes/${id}`, { name: "Once" })
      yield* rider.delete(`/routes/${id}`)
      yield* rider.delete(`/routes/deleted/${id}`)
      const { changes } = pageIn((yield* rider.get(`/sync?cursor=${before}`)).body)
      assert.deepStrictEqual(changes.map(({ change, version }) => [change, version]), [["deleted", 3]])
    }))

  it.effect("has an erasure too, and expires cursors from before deletions that were purged", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read", { expiresInDays: null, currentPassword: rider.password })
      const script = yield* withToken(token)
      const ids = [yield* makeRoute(rider), yield* makeRoute(rider)]
      const before = yield* cursorOf(rider)
      for (const id of ids) yield* rider.delete(`/routes/${id}`)
      const trashed = pageIn((yield* script.get(`/sync?cursor=${before}`)).body)
      assert.strictEqual(trashed.changes[0]?.change, "deleted")
      const read = (cursor: string) => script.get(`/sync?cursor=${cursor}`)
      yield* TestClock.adjust("31 days")
      yield* until(Effect.map(read(trashed.cursor), ({ body }) => pageIn(body).changes.length === 2))
      const between = pageIn((yield* read(`${trashed.cursor}&limit=1`)).body).cursor
      yield* TestClock.adjust("88 days")
      assert.strictEqual((yield* read(before)).status, 200)
      yield* TestClock.adjust("3 days")
      yield* untilSwept(Effect.map(read(before), ({ status }) => status === 410))
      assert.strictEqual((yield* read(between)).status, 410)
      assert.deepStrictEqual(pageIn((yield* script.get("/sync")).body).changes, [])
    }))

  it.effect("identifies the database with the rights of an ordinary role", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const functions = ["pg_control_system()", "pg_walfile_name(pg_lsn)", "pg_current_wal_lsn()"]
      const rows = yield* sql`
        SELECT name FROM unnest(${functions}::text[]) name
        WHERE NOT EXISTS (
          SELECT FROM pg_proc p WHERE p.oid = name::regprocedure
            AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0))
        )`
      assert.deepStrictEqual(rows, [])
    }))

  it.effect("waits until something changes, without a connection of the pool, and then returns it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const requests = yield* Effect.replicateEffect(waitingFor(rider, yield* cursorOf(rider)), 30)
      yield* areWaiting(30)
      const id = yield* makeRoute(rider)
      const answers = yield* Fiber.joinAll(requests)
      for (const { body } of answers) assert.deepStrictEqual(changesIn(body), [["route", id, "upserted"]])
    }))

  it.effect("waits for as long as the client asked, and then returns an empty page", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const seconds of [1, 30]) {
        const request = yield* waitingFor(rider, yield* cursorOf(rider), seconds)
        yield* areWaiting(1)
        yield* TestClock.adjust(1000 * seconds - 1)
        assert.strictEqual(request.pollUnsafe(), undefined)
        yield* TestClock.adjust(1)
        const { body, status } = yield* Fiber.join(request)
        assert.strictEqual(status, 200)
        assert.deepInclude(body, { changes: [], hasMore: false })
      }
    }))

  it.effect("finds a change although the connection that listens was lost", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const rider = yield* signedIn
      const request = yield* waitingFor(rider, yield* cursorOf(rider))
      yield* areWaiting(1)
      yield* sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'`
      const id = yield* makeRoute(rider)
      assert.deepStrictEqual(changesIn((yield* Fiber.join(request)).body), [["route", id, "upserted"]])
    }))

  it.effect("refuses a token that was revoked while it waited", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { id, token } = yield* mint(rider, "read")
      const script = yield* withToken(token)
      const cursor = yield* cursorOf(rider)
      const request = yield* waitingFor(script, cursor)
      yield* areWaiting(1)
      yield* rider.delete(`/auth/tokens/${id}`)
      yield* makeRoute(rider)
      assert.strictEqual((yield* Fiber.join(request)).status, 401)
    }))

  it.effect("renews no session that ended while it waited, by a header or a cookie", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const cursor = yield* cursorOf(rider)
      const byHeader = yield* withHeaders({ authorization: `Bearer ${rider.token}` })
      const requests = [yield* waitingFor(rider, cursor), yield* waitingFor(byHeader, cursor)]
      yield* areWaiting(2)
      yield* rider.post("/auth/logout")
      yield* TestClock.adjust("30 seconds")
      for (const { headers, status } of yield* Fiber.joinAll(requests)) {
        assert.deepStrictEqual([status, headers.get("x-access-token"), headers.getSetCookie()], [401, null, []])
      }
    }))
})

const fewWaits = TestServer.layer().pipe(
  Layer.provide(Layer.succeed(WaitingLimits, { perAccount: 1, total: 2 }))
)

layer(fewWaits)("requests that wait for a change", (it) => {
  it.effect("are bounded for each account and in all, and leave with their client", () =>
    Effect.gen(function*() {
      const [first, second, third] = [yield* signedIn, yield* signedIn, yield* signedIn]
      const [cursor, others, more] = [yield* cursorOf(first), yield* cursorOf(second), yield* cursorOf(third)]
      const client = new AbortController()
      const { origin } = yield* TestServer
      const leaving = fetch(`${origin}/api/v1/sync?cursor=${cursor}&wait=30`, {
        headers: { cookie: first.cookie },
        signal: client.signal
      }).catch(() => undefined)
      yield* areWaiting(1)
      const refused = yield* first.get(`/sync?cursor=${cursor}&wait=30`)
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "5"])
      yield* waitingFor(second, others)
      yield* areWaiting(2)
      const busy = yield* third.get(`/sync?cursor=${more}&wait=30`)
      assert.deepStrictEqual([busy.status, busy.headers.get("retry-after")], [503, "5"])
      client.abort()
      yield* Effect.promise(() => leaving)
      yield* areWaiting(1)
    }))

  it.effect("end at once with an empty page when the service shuts down", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(Layer.fresh(TestServer.layer()), scope)
      const request = yield* Effect.gen(function*() {
        const rider = yield* signedIn
        const request = yield* waitingFor(rider, yield* cursorOf(rider))
        yield* areWaiting(1)
        return request
      }).pipe(Effect.provide(services))
      yield* Scope.close(scope, Exit.void)
      const { body, status } = yield* Fiber.join(request)
      assert.strictEqual(status, 200)
      assert.deepInclude(body, { changes: [] })
    }))
})
