import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { readdir } from "node:fs/promises"
import { setTimeout } from "node:timers/promises"
import { Places } from "../../src/services/geometry/Places.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import {
  archiveOf,
  type Files,
  filesOf,
  imported,
  importedAfter,
  issuesOf,
  manifestOf,
  sealed,
  unzipped,
  zipped
} from "../support/Archives.ts"
import { whileLocked } from "../support/Locks.ts"
import { numbers } from "../support/Numbers.ts"
import { ownTemporaryDirectory } from "../support/OwnTemporaryDirectory.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { untilNone } from "../support/Waiting.ts"

const Listed = Schema.Array(Schema.Record(Schema.String, Schema.Json))

const listOf = (rider: Rider, path: string) =>
  Effect.map(rider.get(path), ({ body }) => Schema.decodeUnknownSync(Listed)(body))

const namesOf = (rider: Rider) => Effect.map(listOf(rider, "/routes"), (routes) => routes.map(({ name }) => name))

/** Returns a route but for what is another one's in another account. */
const toldOf = (route: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(route).filter(([name]) => !["id", "shareToken", "user"].includes(name)))

const none = { created: 0, restored: 0, unchanged: 0 }

const noRoutes = { ...none, duplicates: 0 }

const geometry = [[9.512345678901234, 47.1, 455.5], [9.6, 47.2], [-179.99999999999997, 1e-7, -3.25]]

const text = (max: number) =>
  fc.string({ unit: "grapheme", maxLength: max }).map((text) => text.replaceAll("\u0000", "x"))
const position = fc.oneof(
  fc.tuple(numbers(-180, 180), numbers(-90, 90)),
  fc.tuple(numbers(-180, 180), numbers(-90, 90), fc.double({ noNaN: true, noDefaultInfinity: true }))
)
const openValue = text(20).filter((value) => value !== "")
const anyRoute = fc.record({
  name: text(60).filter((name) => name.trim() !== ""),
  waypoints: fc.array(
    fc.record({ coord: fc.tuple(numbers(-180, 180), numbers(-90, 90)), type: openValue, name: text(20) }, {
      requiredKeys: ["coord"]
    }),
    { minLength: 1, maxLength: 4 }
  ),
  description: text(80),
  activity: fc.constantFrom("run", "cycle", "walk"),
  visibility: fc.constantFrom("private", "unlisted", "public"),
  tags: fc.array(fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,23}$/), { maxLength: 10 }),
  favourite: fc.boolean(),
  geometry: fc.array(position, { maxLength: 30 }),
  distance: numbers(0, 1e8),
  duration: numbers(0, 1e8),
  elevationGain: numbers(0, 1e6),
  startAddress: text(40),
  endAddress: text(40),
  routingPreferences: fc.record({ surfacePreference: openValue, avoidFerries: fc.boolean() }, { requiredKeys: [] }),
  provenance: fc.constantFrom("routing-engine", "legacy-provider", "gpx-import", "generation")
}, { requiredKeys: ["name", "waypoints"] })

layer(TestServer.layer())("an import", (it) => {
  it.effect("of any route gives the same route in another account, to the last digit", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      const routes = fc.sample(anyRoute, { numRuns: 60, seed: 11 })
      for (const route of routes) assert.strictEqual((yield* rider.post("/routes", route)).status, 201)
      const answer = yield* imported(heir, yield* archiveOf(rider))
      assert.deepStrictEqual([answer.status, answer.body], [201, {
        routes: { ...noRoutes, created: routes.length },
        collections: none,
        preferences: "unchanged"
      }])
      const before = yield* listOf(rider, "/routes")
      const after = yield* listOf(heir, "/routes")
      assert.deepStrictEqual(after.map(toldOf), before.map(toldOf))
      const tokens = [...before, ...after].map(({ shareToken }) => shareToken)
      assert.strictEqual(new Set(tokens).size, 2 * routes.length)
    }))

  it.effect("may be repeated, and made where the archive came from: nothing is there twice, and nothing is lost", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      yield* rider.patch("/users/me", { preferences: { units: "metric", overlays: { wind: true, bike: true } } })
      yield* heir.patch("/users/me", { preferences: { units: "imperial", overlays: { wind: false } } })
      const kept = created((yield* rider.post("/routes", newRoute({ name: "kept", geometry }))).body)
      const changed = created((yield* rider.post("/routes", newRoute({ name: "changed" }))).body)
      const gone = created((yield* rider.post("/routes", newRoute({ name: "gone" }))).body)
      yield* rider.post("/collections", { name: "All", routeIds: [gone.id, kept.id, changed.id] })
      const archive = yield* archiveOf(rider)
      const third = { ...noRoutes, unchanged: 3 }

      assert.deepStrictEqual((yield* imported(rider, archive)).body, {
        routes: third,
        collections: { ...none, unchanged: 1 },
        preferences: "unchanged"
      })
      yield* rider.patch(`/routes/${changed.id}`, { name: "changed since" })
      yield* rider.delete(`/routes/${gone.id}`)
      assert.deepInclude((yield* imported(rider, archive)).body, {
        routes: { created: 0, restored: 1, unchanged: 2, duplicates: 0 }
      })
      assert.deepStrictEqual(yield* namesOf(rider), ["gone", "changed since", "kept"])
      assert.strictEqual((yield* rider.get(`/routes/${shareTokenOf(gone)}`)).status, 200)

      assert.deepStrictEqual((yield* imported(heir, archive)).body, {
        routes: { ...noRoutes, created: 3 },
        collections: { ...none, created: 1 },
        preferences: "restored"
      })
      assert.deepStrictEqual((yield* imported(heir, archive)).body, {
        routes: third,
        collections: { ...none, unchanged: 1 },
        preferences: "unchanged"
      })
      assert.deepInclude((yield* heir.get("/users/me")).body, {
        preferences: { units: "imperial", overlays: { wind: false, bike: true } }
      })
      const [collection] = yield* listOf(heir, "/collections")
      const inside = yield* listOf(heir, `/collections/${collection?.["id"]}/routes`)
      assert.deepStrictEqual(inside.map(({ name }) => name), ["gone", "kept", "changed"])

      // Routes that went from one to the other and come back are known.
      assert.deepInclude((yield* imported(rider, yield* archiveOf(heir))).body, { routes: third })
    }))

  it.effect("skips and counts routes with the positions of an own one, which takes their place in collections", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      const [one, two] = [[[9, 47], [9.1, 47.1]], [[9, 47], [9.2, 47.2]]]
      yield* heir.delete(`/routes/${created((yield* heir.post("/routes", newRoute({ geometry: two }))).body).id}`)
      const there = created((yield* heir.post("/routes", newRoute({ name: "there", geometry: one }))).body)
      const first = created((yield* rider.post("/routes", newRoute({ name: "first", geometry: one }))).body)
      const again = created((yield* rider.post("/routes", newRoute({ name: "again", geometry: two }))).body)
      const twin = created((yield* rider.post("/routes", newRoute({ name: "twin", geometry: two }))).body)
      yield* rider.post("/collections", { name: "All", routeIds: [first.id, again.id, twin.id] })
      const archive = yield* archiveOf(rider)
      const report = { routes: { ...noRoutes, created: 2, duplicates: 1 } }
      assert.deepInclude((yield* imported(heir, archive)).body, report)
      assert.deepStrictEqual(yield* namesOf(heir), ["twin", "again", "there"])
      const [collection] = yield* listOf(heir, "/collections")
      const inside = yield* listOf(heir, `/collections/${collection?.["id"]}/routes`)
      assert.deepStrictEqual(inside.map(({ name }) => name), ["there", "again", "twin"])
      assert.strictEqual(inside[0]?.["id"], there.id)
      const repeated = { routes: { ...noRoutes, unchanged: 2, duplicates: 1 } }
      assert.deepInclude((yield* imported(heir, archive)).body, repeated)

      // A twin of a route of the archive is no duplicate, also where an import ended between the two.
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM routes WHERE user_id = ${heir.id} AND name = 'twin'`
      const finished = { routes: { created: 1, restored: 0, unchanged: 1, duplicates: 1 } }
      assert.deepInclude((yield* imported(heir, archive)).body, finished)
    }))

  it.effect("is refused while another one into the same account is under way, from its first byte on", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      yield* rider.post("/routes", newRoute({}))
      const archive = yield* archiveOf(rider)
      const seconds: Array<number> = []
      const second = Effect.map(imported(heir, archive), ({ status }) => seconds.push(status))
      assert.strictEqual((yield* importedAfter(heir, archive, second)).status, 201)
      assert.deepStrictEqual(seconds, [409])
      assert.deepInclude((yield* imported(heir, archive)).body, { routes: { ...noRoutes, unchanged: 1 } })
    }))

  it.effect("is refused while another process imports into the same account, and not after", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      yield* rider.post("/routes", newRoute({}))
      const archive = yield* archiveOf(rider)
      const refused = yield* whileLocked(
        (sql) => sql`SELECT pg_advisory_xact_lock(hashtextextended(${`import ${heir.id}`}, 0))`,
        imported(heir, archive)
      )
      assert.strictEqual(refused.status, 409)
      const sql = yield* SqlClient.SqlClient
      const lock = sql`
        SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE locktype = 'advisory' AND datname = current_database()`
      const held: Array<number> = []
      const look = Effect.map(lock, ({ length }) => held.push(length))
      assert.strictEqual((yield* importedAfter(heir, archive, Effect.orDie(look))).status, 201)
      assert.deepStrictEqual(held, [1])
      yield* untilNone(lock)
    }))

  it.effect("waits for no slow upload of others, and none of them has a name on the disk", () =>
    Effect.gen(function*() {
      const uploads = yield* ownTemporaryDirectory
      const rider = yield* signedIn
      yield* rider.post("/routes", newRoute({}))
      const archive = yield* archiveOf(rider)
      const others = yield* Effect.all(Array.from({ length: 5 }, () => signedIn))
      const seen: Array<number | ReadonlyArray<string>> = []
      const last: Effect.Effect<unknown> = Effect.gen(function*() {
        seen.push((yield* imported(rider, archive)).status, yield* Effect.promise(() => readdir(uploads)))
      })
      const server = yield* TestServer
      yield* others.reduce(
        (between, other) =>
          Effect.provideService(
            Effect.map(importedAfter(other, archive, between), ({ status }) => seen.push(status)),
            TestServer,
            server
          ),
        last
      )
      assert.deepStrictEqual(seen, [201, [], 201, 201, 201, 201, 201])
    }))

  it.effect("keeps of others' routes in a collection those that are public here", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      const other = yield* signedIn
      const open = created((yield* other.post("/routes", newRoute({ visibility: "public" }))).body)
      const closing = created((yield* other.post("/routes", newRoute({ visibility: "public" }))).body)
      const own = created((yield* rider.post("/routes", newRoute({}))).body)
      yield* rider.post("/collections", { name: "Mixed", routeIds: [closing.id, open.id, own.id] })
      const archive = yield* archiveOf(rider)
      yield* other.patch(`/routes/${closing.id}`, { visibility: "private" })
      assert.strictEqual((yield* imported(heir, archive)).status, 201)
      const [route] = yield* listOf(heir, "/routes")
      const [collection] = yield* listOf(heir, "/collections")
      assert.deepStrictEqual(collection?.["routeIds"], [open.id, route?.["id"] ?? 0])
      assert.strictEqual((yield* listOf(heir, "/routes")).length, 1)
    }))

  it.effect("restores a deleted route that is in the trash, and after that makes a new one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const sql = yield* SqlClient.SqlClient
      const route = created((yield* rider.post("/routes", newRoute({}))).body)
      const archive = yield* archiveOf(rider)
      const deleteAgo = (days: number) =>
        sql`UPDATE routes SET deleted_at = ${new Date(-days * 86_400_000)} WHERE user_id = ${rider.id}`
      yield* deleteAgo(29)
      assert.deepInclude((yield* imported(rider, archive)).body, { routes: { ...noRoutes, restored: 1 } })
      yield* deleteAgo(31)
      assert.deepInclude((yield* imported(rider, archive)).body, { routes: { ...noRoutes, created: 1 } })
      const [again] = yield* listOf(rider, "/routes")
      assert.notStrictEqual(again?.["id"], route.id)
      assert.notStrictEqual(again?.["shareToken"], shareTokenOf(route))
    }))

  it.effect("gives a collection from the trash the routes that it lost, after its own, while it has room", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const make = (name: string) =>
        Effect.map(rider.post("/routes", newRoute({ name })), ({ body }) => created(body).id)
      const ids = yield* Effect.forEach(["a", "b", "c"], make)
      const { id } = created((yield* rider.post("/collections", { name: "trip", routeIds: ids })).body)
      const archive = yield* archiveOf(rider)
      const sql = yield* SqlClient.SqlClient
      const erase = sql`DELETE FROM routes WHERE user_id = ${rider.id} AND name IN ('a', 'c')`
      const members = sql<{ name: string }>`
        SELECT name FROM collection_routes JOIN routes r ON r.id = route_id
        WHERE collection_id = ${id} ORDER BY position, route_id`
      const inside = Effect.map(members, (rows) => rows.map(({ name }) => name))
      yield* erase
      yield* imported(rider, archive)
      assert.deepStrictEqual(yield* inside, ["b"])
      yield* rider.delete(`/collections/${id}`)
      const restored = { collections: { ...none, restored: 1 } }
      assert.deepInclude((yield* imported(rider, archive)).body, restored)
      assert.deepStrictEqual(yield* inside, ["b", "a", "c"])

      yield* erase
      yield* sql`
        WITH more AS (
          INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at,
            updated_at)
          SELECT ${rider.id}, 'x', 'private', '{}', false, '[{"coord":[9,47]}]', 'routing-engine',
            lpad(n::text, 32, '0'), '1970-01-01Z', '1970-01-01Z'
          FROM generate_series(1, 998) n RETURNING id
        ) INSERT INTO collection_routes (collection_id, route_id, position) SELECT ${id}, id, 9 FROM more`
      yield* rider.delete(`/collections/${id}`)
      assert.deepInclude((yield* imported(rider, archive)).body, restored)
      assert.deepStrictEqual(yield* inside, ["b", ...Array.from({ length: 998 }, () => "x"), "a"])
    }))

  it.effect("into an account that is to be deleted meanwhile is refused, and imports nothing more", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      const sql = yield* SqlClient.SqlClient
      yield* rider.post("/routes", newRoute({}))
      const archive = yield* archiveOf(rider)
      const leave = Effect.orDie(sql`UPDATE users SET deletion_requested_at = ${new Date(0)} WHERE id = ${heir.id}`)
      const { status, text } = yield* importedAfter(heir, archive, leave)
      assert.strictEqual(status, 403)
      assert.include(text, "The account is pending deletion")
      assert.deepStrictEqual(yield* sql`SELECT id FROM routes WHERE user_id = ${heir.id}`, [])
    }))

  it.effect("takes an archive that was unpacked and packed again, and no instant of the future", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      yield* rider.post("/routes", newRoute({}))
      const files = yield* filesOf(rider)
      const ahead = (files["routes.json"] ?? "").replaceAll("1970-01-01", "9999-01-01")
      assert.strictEqual(
        (yield* imported(
          heir,
          yield* sealed({ "routes/": "", ...files, "routes.json": ahead }, {
            files: manifestOf(yield* unzipped(yield* sealed({ ...files, "routes.json": ahead }))).files
          })
        )).status,
        201
      )
      const [route] = yield* listOf(heir, "/routes")
      assert.deepInclude(route, { createdAt: "1970-01-01T00:00:00.000Z", updatedAt: "1970-01-01T00:00:00.000Z" })
    }))

  it.effect("takes an archive that macOS packed again, with its folder or without, and the files that it adds", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* rider.post("/routes", newRoute({}))
      const files = { ".DS_Store": "x", ...yield* filesOf(rider) }
      for (const folder of ["", "account-export/"]) {
        const heir = yield* signedIn
        const inside = Object.entries(files).map(([name, text]) => [`${folder}${name}`, text] as const)
        const { body, status } = yield* imported(
          heir,
          yield* zipped([...inside, [`__MACOSX/${folder}._manifest.json`, "x"]])
        )
        assert.deepStrictEqual([status, body], [201, {
          routes: { ...noRoutes, created: 1 },
          collections: none,
          preferences: "unchanged"
        }], folder)
      }
    }))

  it.effect("of an archive with anything wrong names it, and imports nothing", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      const uploads = yield* ownTemporaryDirectory
      yield* rider.post("/routes", newRoute({ name: "first" }))
      yield* rider.post("/routes", newRoute({ name: "second" }))
      const files = yield* filesOf(rider)
      const routes = files["routes.json"] ?? ""
      const gpx = Object.keys(files).find((name) => name.endsWith(".gpx")) ?? ""
      const packed = (changed: Files, without: ReadonlyArray<string> = []) =>
        zipped(Object.entries({ ...files, ...changed }).filter(([name]) => !without.includes(name)))
      const again = (changed: Files) => sealed({ ...files, ...changed })
      const [first = "", second = ""] = routes.split("\n").slice(1)
      const cases: ReadonlyArray<readonly [what: string, archive: Effect.Effect<Uint8Array>, path: string]> = [
        ["no archive", Effect.succeed(new TextEncoder().encode("hello")), ""],
        ["cut off", Effect.map(packed({}), (bytes) => bytes.slice(0, -100)), ""],
        ["no manifest", packed({}, ["manifest.json"]), "manifest.json"],
        ["another format", sealed(files, JSON.parse("{\"format\":\"gpx\"}")), "manifest.json.format"],
        ["another version", sealed(files, JSON.parse("{\"version\":2}")), "manifest.json.version"],
        ["a file less", packed({}, [gpx]), gpx],
        ["a file more", packed({ "routes/../evil.gpx": "x" }), ""],
        ["an unnamed file", packed({ "notes.txt": "x" }), "notes.txt"],
        ["a file changed", packed({ "routes.json": routes.replace("first", "First") }), "routes.json"],
        ["a file longer", packed({ "tokens.json": "[ ] " }), "tokens.json"],
        ["a file twice", zipped([...Object.entries(files), [gpx, "x"]]), ""],
        ["nothing required", sealed({ "manifest.json": files["manifest.json"] ?? "" }), "profile.json"],
        [
          "a route that none may be",
          again({ "routes.json": routes.replace("47.1", "97.1") }),
          "routes.json:2.waypoints.0.coord.1"
        ],
        ["a line that is not JSON", again({ "routes.json": routes.replace("\"second\"", "second") }), "routes.json:3"],
        ["a route twice", again({ "routes.json": `[\n${first}\n${first}\n]` }), "routes.json:3.origin"],
        ["a route less", again({ "routes.json": `[\n${second}\n]\n` }), "routes.json"],
        [
          "a profile of nobody",
          again({ "profile.json": "{\"preferences\":{\"units\":1}}" }),
          "profile.json.preferences.units"
        ],
        [
          "a collection of nothing",
          sealed({ ...files, "collections.json": "[\n{}\n]\n" }, {
            counts: { ...manifestOf(files).counts, collections: 1 }
          }),
          "collections.json:2.origin"
        ],
        ["a collection more", again({ "collections.json": "[\n{}\n]\n" }), "collections.json:2"]
      ]
      for (const [what, archive, path] of cases) {
        const { body, status } = yield* imported(heir, yield* archive)
        assert.strictEqual(status, 400, what)
        assert.include(issuesOf(body).map((issue) => issue.path), path === "" ? "body" : `body.${path}`, what)
      }
      assert.deepStrictEqual(yield* namesOf(heir), [])
      assert.strictEqual((yield* imported(heir, yield* packed({}))).status, 201)
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(uploads)), [])
    }))
})

const slow = Layer.succeed(Places, {
  at: () => Effect.as(Effect.sleep("11 seconds"), {}),
  hasCities: Effect.succeed(false)
})

/** Lets 11 seconds pass again and again until there is a response. */
const answerOf = <A>(call: Effect.Effect<A>) =>
  Effect.raceFirst(
    call,
    Effect.forever(Effect.andThen(Effect.promise(() => setTimeout(50)), TestClock.adjust("11 seconds")))
  )

layer(TestServer.layer({}, slow))("an import that takes long", (it) => {
  it.effect("has two minutes where others have ten seconds", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const heir = yield* signedIn
      yield* SqlClient.SqlClient.use((sql) =>
        sql`
          INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, provenance, share_token, created_at,
            updated_at)
          VALUES (${rider.id}, 'x', 'private', '{}', false, '[{"coord":[9,47]}]', 'routing-engine', ${"0".repeat(32)},
            '1970-01-01Z', '1970-01-01Z')`
      )
      const archive = yield* archiveOf(rider)
      assert.strictEqual((yield* answerOf(rider.post("/routes", newRoute({})))).status, 503)
      assert.strictEqual((yield* answerOf(imported(heir, archive))).status, 201)
    }))
})
