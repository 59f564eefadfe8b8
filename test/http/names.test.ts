import { NodeServices } from "@effect/platform-node"
import { PgClient, PgMigrator } from "@effect/sql-pg"
import { assert, it as test, layer } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { fromFileSystem } from "effect/sql/MigratorFileSystem"
import { join } from "node:path"
import { anonymous, newEmail, signedIn, signedInAs, signedUpAs } from "../support/Actors.ts"
import { emptyDatabase } from "../support/Databases.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"

/** Overrides, isolates, marks, spaces without width, a soft hyphen, a byte order mark, tags and joiners. */
const HIDDEN = "\u202E\u202A\u2066\u2069\u200E\u200F\u061C\u200B\u2060\u00AD\uFEFF\u{E0041}\u200D\u200C"

const hidden = /[\p{Cf}]/u

/** Names that people have, with joiners and tags that belong into them. */
const SPELT = ["می‌خواهم", "क्‍ष", "Anna 👩‍👩‍👧", "Lea 👩🏽‍🚒", "Jo 🏳️‍🌈", "Isla 🏴󠁧󠁢󠁳󠁣󠁴󠁿"]

const nameIn = (body: unknown) => Schema.decodeUnknownSync(Schema.Struct({ name: Schema.String }))(body).name

layer(TestServer.layer())("names of people", (it) => {
  it.effect("have no invisible characters, by whatever way they come", () =>
    Effect.gen(function*() {
      const rider = yield* signedUpAs({ name: `Alma${HIDDEN} ${HIDDEN}Rider${HIDDEN}` })
      assert.strictEqual(nameIn((yield* rider.get("/users/me")).body), "Alma Rider")
      assert.strictEqual(
        nameIn((yield* rider.patch("/users/me", { name: `${HIDDEN} Berta${HIDDEN} ` })).body),
        "Berta"
      )
      const nameless = { email: `evil\u202Eresu\u200B-${newEmail()}`, password: rider.password }
      assert.strictEqual((yield* (yield* anonymous).post("/auth/signup-email", nameless)).status, 400)
    }))

  it.effect("of nothing but invisible characters are refused", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const name of [HIDDEN, ` ${HIDDEN} `]) {
        assert.strictEqual((yield* rider.patch("/users/me", { name })).status, 400)
      }
      assert.strictEqual((yield* rider.patch("/users/me", { name: `${HIDDEN}${"x".repeat(100)}` })).status, 200)
    }))

  it.effect("keep the joiners of their script, of emoji and of flags", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      for (const name of SPELT) {
        assert.strictEqual(nameIn((yield* rider.patch("/users/me", { name })).body), name)
      }
    }))
})

layer(TestServer.layer())("the name of a route", (it) => {
  it.effect("is stored as it was sent, and has no invisible characters as the name of a file and on pages", () =>
    Effect.gen(function*() {
      const rider = yield* signedInAs({ name: "Alma Rider" })
      const name = `Loop\u202Exe.gpx\u2066`
      const geometry = [[9.5, 47.1], [9.6, 47.2]]
      const route = created((yield* rider.post("/routes", newRoute({ name, geometry, visibility: "public" }))).body)
      assert.strictEqual(route.name, name)
      for (const format of ["gpx", "geojson", "tcx", "kml", "fit"]) {
        const { headers, status } = yield* rider.get(`/routes/${route.id}/${format}`)
        assert.strictEqual(status, 200)
        assert.strictEqual(headers.get("content-disposition"), `attachment; filename=Loopxe.gpx.${format}`)
      }
      const visitor = yield* anonymous
      const page = yield* visitor.get(`//r/${shareTokenOf(route)}`)
      assert.include(page.text, "<h1>Loopxe.gpx</h1>")
      const address = encodeURIComponent(`http://localhost:3000/r/${shareTokenOf(route)}`)
      const embedded = yield* visitor.get(`//oembed?url=${address}`)
      assert.deepInclude(embedded.body, { title: "Loopxe.gpx" })
      for (const { status, text } of [page, embedded]) {
        assert.strictEqual(status, 200)
        assert.notMatch(text, hidden)
      }
    }))
})

test.live("names that are stored already lose invisible characters", () =>
  Effect.gen(function*() {
    const url = yield* emptyDatabase
    const all = fromFileSystem(join(import.meta.dirname, "../../migrations"))
    const migrated = (isDue: (id: number) => boolean) =>
      PgMigrator.run({ loader: Effect.map(all, (list) => list.filter(([id]) => isDue(id))) })
    const names = yield* Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrated((id) => id < 32)
      const people = Object.entries(["Alma\u202E\u200B Rider\uFEFF", "\u202E", ...SPELT])
      for (const [key, name] of people) {
        yield* sql`
          INSERT INTO users (email, email_key, name, handle, created_at, updated_at)
          VALUES (${key}, ${key}, ${name}, ${`handle-${key}`}, 'epoch', 'epoch')`
        yield* sql`
          INSERT INTO sign_ups (email, email_key, name, created_at, expires_at)
          VALUES (${key}, ${key}, ${name}, 'epoch', 'epoch')`
      }
      yield* migrated(() => true)
      return yield* sql<{ name: string }>`
        SELECT name FROM (SELECT name, email FROM users UNION ALL SELECT name, email || 2 FROM sign_ups) n ORDER BY email`
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
    const kept = SPELT.flatMap((name) => [name, name])
    assert.deepStrictEqual(names.map(({ name }) => name), ["Alma Rider", "Alma Rider", "handle-1", "rider", ...kept])
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
