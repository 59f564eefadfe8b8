import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { jsonLogger } from "../../src/layers/Logging.ts"
import { RouteId } from "../../src/schema/Ids.ts"
import { type Actor, signedIn, signedInAs } from "../support/Actors.ts"
import { exported, imported, issuesOf, manifestOf, sealed, unzipped } from "../support/Archives.ts"
import { idOf, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

const ADMINS = ["first-admin@example.com", "second-admin@example.com"] as const

const logged: Array<string> = []

const recording = Logger.layer([Logger.map(jsonLogger, (line) => logged.push(line))])

/** Only somebody with a database client can make such rows: no constraint is left to refuse them. */
const dropChecks = SqlClient.SqlClient.use((sql) =>
  sql`
    DO $$ DECLARE c record; BEGIN
      FOR c IN SELECT conrelid::regclass AS of, conname FROM pg_constraint
        WHERE contype = 'c' AND connamespace = 'public'::regnamespace
      LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.of, c.conname); END LOOP;
    END $$`
)

const Named = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ name: Schema.String })))

const namesAt = Effect.fnUntraced(function*(actor: Actor, path: string) {
  const { body, status, text } = yield* actor.get(path)
  assert.strictEqual(status, 200, `${path}: ${text.slice(0, 200)}`)
  return Named(body).map(({ name }) => name).toSorted()
})

const sumOf = Schema.decodeUnknownSync(
  Schema.Struct({
    preferences: Schema.Null,
    statistics: Schema.Struct({ totalRoutes: Schema.Int, totalDistance: Schema.Finite })
  })
)

layer(TestServer.layer({ ADMIN_EMAILS: ADMINS.join(",") }).pipe(Layer.provideMerge(recording)))(
  "a number that would poison a sum",
  (it) => {
    it.effect("is refused in an archive as in a request, and nothing of the archive is stored", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const heir = yield* signedIn
        for (const name of ["one", "two"]) yield* rider.post("/routes", newRoute({ name, distance: 5 }))
        const files = yield* unzipped((yield* exported(rider)).bytes)
        const routes = (files["routes.json"] ?? "").replaceAll("\"distance\":5", "\"distance\":1.7e308")
        const archive = yield* sealed({ ...files, "routes.json": routes })
        const answer = yield* imported(heir, archive)
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual(issuesOf(answer.body).map(({ path }) => path), [
          "body.routes.json:2.distance",
          "body.routes.json:3.distance"
        ])
        for (const path of ["/users/me", "/users/profile", "/users/me/export"]) {
          assert.strictEqual((yield* heir.get(path)).status, 200, path)
        }
        const admin = yield* signedInAs({ email: ADMINS[0] })
        assert.strictEqual((yield* admin.get("/admin/users")).status, 200)
      }))

    it.effect("is cut where the service measures it, so that the route's archive is taken", () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const heir = yield* signedIn
        const geometry = Array.from({ length: 10_000 }, (_, n) => [n % 2 === 0 ? 0 : 180, 0])
        const { body } = yield* rider.post("/routes", newRoute({ geometry }))
        assert.propertyVal(body, "distance", 1e8)
        assert.strictEqual((yield* imported(heir, (yield* exported(rider)).bytes)).status, 201)
      }))

    it.effect("in a row of any table fails no list, no export and no page of an administrator", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const admin = yield* signedInAs({ email: ADMINS[1] })
        const rider = yield* signedIn
        const other = yield* signedIn
        const ids = new Map<string, RouteId>()
        const names = ["fine", "infinite", "no number", "secret", "no json", "broken line", "tags of tags", "nowhere"]
        for (const name of names) {
          const { body } = yield* rider.post("/routes", newRoute({ name, distance: 5, visibility: "public" }))
          ids.set(name, RouteId.make(idOf(body)))
        }
        for (const name of ["all", "hidden"]) yield* rider.post("/collections", { name, routeIds: [...ids.values()] })
        for (const name of ["good", "bad"]) yield* rider.post("/auth/tokens", { name, scope: "read" })
        yield* dropChecks
        yield* sql`UPDATE routes SET distance = 'Infinity' WHERE name = 'infinite'`
        yield* sql`UPDATE routes SET distance = 'NaN' WHERE name = 'no number'`
        yield* sql`UPDATE routes SET visibility = 'secret' WHERE name = 'secret'`
        yield* sql`UPDATE routes SET routing_preferences = '{' WHERE name = 'no json'`
        yield* sql`UPDATE routes SET geometry = '[[1]]' WHERE name = 'broken line'`
        yield* sql`UPDATE routes SET tags = ARRAY[ARRAY['a']] WHERE name = 'tags of tags'`
        yield* sql`ALTER TABLE routes ALTER COLUMN waypoints DROP NOT NULL`
        yield* sql`UPDATE routes SET waypoints = NULL WHERE name = 'nowhere'`
        yield* sql`UPDATE collections SET visibility = 'secret' WHERE name = 'hidden'`
        yield* sql`UPDATE personal_access_tokens SET scope = 'all' WHERE name = 'bad'`
        yield* sql`UPDATE users SET preferences = '{"units": 5}' WHERE id = ${rider.id}`
        yield* sql`UPDATE users SET handle = 'No Handle', deletion_requested_at = created_at WHERE id = ${other.id}`
        yield* sql`UPDATE route_usage SET routes = -1, stored_bytes = 9223372036854775806 WHERE user_id = ${rider.id}`
        yield* sql`UPDATE collection_usage SET collections = -1 WHERE user_id = ${rider.id}`
        yield* sql`UPDATE sessions SET expires_at = 'infinity' WHERE user_id = ${admin.id}`
        yield* sql`UPDATE audit_events SET event = 'nonsense' WHERE user_id = ${other.id}`

        const seen = ["broken line", "fine", "no json"]
        assert.deepStrictEqual(yield* namesAt(rider, "/routes?geometry=none"), seen)
        assert.deepStrictEqual(yield* namesAt(rider, "/routes/public?gate=public&geometry=none"), seen)
        assert.deepStrictEqual(yield* namesAt(rider, `/routes/by-user/${rider.id}?geometry=none`), seen)
        assert.deepStrictEqual(yield* namesAt(rider, "/collections"), ["all"])
        assert.deepStrictEqual(yield* namesAt(rider, "/auth/tokens"), ["good"])
        assert.includeMembers(yield* namesAt(admin, "/admin/routes"), seen)
        for (const path of ["/me/sessions", "/admin/users", "/admin/deletions", "/admin/audit", "/admin/overview"]) {
          assert.strictEqual((yield* admin.get(path)).status, 200, path)
        }
        assert.include((yield* admin.get("/admin/users")).text, rider.email)
        const { statistics } = sumOf((yield* rider.get("/users/me")).body)
        assert.deepStrictEqual(statistics, { totalRoutes: 8, totalDistance: 2e8 + 30 })
        yield* sql`UPDATE route_usage SET live_routes = 9223372036854775806, live_distance = -1 WHERE user_id = ${rider.id}`
        assert.deepStrictEqual(sumOf((yield* rider.get("/users/me")).body).statistics, {
          totalRoutes: 2 ** 31 - 1,
          totalDistance: 0
        })
        assert.strictEqual((yield* rider.patch("/users/me", { preferences: { units: "metric" } })).status, 200)
        const files = yield* unzipped((yield* exported(rider)).bytes)
        assert.deepInclude(manifestOf(files).counts, { routes: 3, collections: 1, tokens: 1 })
        assert.deepStrictEqual(manifestOf(files).changedMeanwhile.map(Number), [Number(ids.get("broken line"))])
        const report = logged.find((line) => line.includes("unreadable row left out") && line.includes("visibility")) ??
          ""
        assert.include(report, `"id":"${ids.get("secret")}"`)
        assert.notInclude(report, "secret")
      }))
  }
)
