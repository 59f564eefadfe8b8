import { assert, layer } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Tier } from "../../src/http/api/Access.ts"
import { Api } from "../../src/http/api/Api.ts"
import { anonymous, signedIn } from "../support/Actors.ts"
import { exported, type Files, filesOf, imported, manifestOf, unzipped } from "../support/Archives.ts"
import { created, newRoute, shareTokenOf } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, scriptOf } from "../support/Tokens.ts"

const hasPython = spawnSync("python3", ["--version"]).status === 0

const line = [[9.512345678901234, 47.1, 455.5], [9.6, 47.2], [-179.99999999999997, 1e-7, -3.25]]

const Elements = Schema.fromJsonString(Schema.Array(Schema.Record(Schema.String, Schema.Json)))

const elementsOf = (files: Files, name: string) => Schema.decodeUnknownSync(Elements)(files[name])

layer(TestServer.layer())("an export", (it) => {
  it.effect("is a ZIP archive of everything in the account, with a manifest that is right about it", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const other = yield* signedIn
      yield* mint(rider, "read")
      yield* rider.patch("/users/me", { preferences: { units: "metric", overlays: { wind: true } } })
      const sql = yield* SqlClient.SqlClient
      const identity = {
        issuer: "https://id.example.com",
        subject: crypto.randomUUID(),
        linkedAt: "2026-01-02T03:04:05.000Z"
      }
      yield* sql`
        INSERT INTO identities (issuer, subject, user_id, created_at)
        VALUES (${identity.issuer}, ${identity.subject}, ${rider.id}, ${identity.linkedAt})`
      const route = created(
        (yield* rider.post(
          "/routes",
          newRoute({
            name: "../../Übers <Joch>\u202e\\CON 🚲",
            description: "Line one\nline two",
            activity: "cycle",
            tags: ["gravel"],
            favourite: true,
            visibility: "unlisted",
            routingPreferences: { avoidFerries: true },
            waypoints: [{ coord: [9.5, 47.1], type: "routed", name: "Start" }, { coord: [9.6, 47.2] }],
            geometry: line
          })
        )).body
      )
      const bare = created((yield* rider.post("/routes", newRoute({ name: "路線" }))).body)
      const gone = created((yield* rider.post("/routes", newRoute({ name: "gone" }))).body)
      yield* rider.delete(`/routes/${gone.id}`)
      const theirs = created((yield* other.post("/routes", newRoute({ visibility: "public" }))).body)
      yield* other.post("/routes", newRoute({ name: "not yours" }))
      const collection = created(
        (yield* rider.post("/collections", { name: "Both", routeIds: [theirs.id, bare.id, route.id] })).body
      )

      const { bytes, headers, status } = yield* exported(rider)
      assert.strictEqual(status, 200)
      assert.strictEqual(headers.get("content-type"), "application/zip")
      assert.strictEqual(headers.get("content-disposition"), "attachment; filename=\"account-export.zip\"")
      assert.strictEqual(headers.get("cache-control"), "no-store")
      const files = yield* unzipped(bytes)
      const gpx = `routes/${route.id}-ubers-joch-con.gpx`
      assert.deepStrictEqual(Object.keys(files), [
        "profile.json",
        "routes.json",
        gpx,
        `routes/${bare.id}-route.gpx`,
        "collections.json",
        "tokens.json",
        "sessions.json",
        "manifest.json"
      ])
      const { counts, files: listed, format, version } = manifestOf(files)
      assert.deepStrictEqual({ counts, format, version }, {
        format: "route-planning-service/account",
        version: 1,
        counts: { routes: 2, collections: 1, tokens: 1, sessions: 1 }
      })
      assert.deepStrictEqual(
        listed,
        Object.entries(files).filter(([name]) => name !== "manifest.json").map(([name, text]) => ({
          name,
          size: Buffer.byteLength(text),
          sha256: createHash("sha256").update(text).digest("hex")
        }))
      )

      assert.deepInclude(JSON.parse(files["profile.json"] ?? ""), (yield* rider.get("/users/me")).body)
      assert.deepInclude(JSON.parse(files["profile.json"] ?? ""), { identities: [identity] })
      const { origin, ...first } = elementsOf(files, "routes.json")[0] ?? {}
      const { url: _, ...stored } = route
      assert.deepStrictEqual<unknown>(first, stored)
      assert.strictEqual(origin, route.shareToken)
      assert.strictEqual(files["routes.json"]?.split("\n").length, 5)
      assert.strictEqual(files[gpx], (yield* rider.get(`/routes/${route.id}/gpx`)).text)
      assert.deepInclude(elementsOf(files, "collections.json")[0], {
        id: collection.id,
        routeIds: [theirs.id, bare.id, route.id],
        others: [{ id: theirs.id, shareToken: theirs.shareToken }]
      })
    }))

  it.effect.skipIf(!hasPython)(
    "opens with the tools that people have (skipped where there is no Python)",
    () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        yield* rider.post("/routes", newRoute({ name: "x".repeat(255), geometry: line }))
        const file = join(yield* temporaryDirectory, "account.zip")
        const { bytes } = yield* exported(rider)
        yield* Effect.promise(() => writeFile(file, bytes))
        assert.match(String(execFileSync("python3", ["-m", "zipfile", "-t", file])), /Done testing/)
      })
  )

  it.effect("has no secret but the share tokens of routes and collections", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write")
      const route = created((yield* rider.post("/routes", newRoute({ visibility: "unlisted" }))).body)
      const collection = created((yield* rider.post("/collections", { name: "x", visibility: "unlisted" })).body)
      const links = [`/routes/${route.id}/links`, `/collections/${collection.id}/links`]
      const linked = yield* Effect.forEach(links, (path) => rider.post(path, {}))
      const text = Object.values(yield* filesOf(rider)).join("\n")
      const sql = yield* SqlClient.SqlClient
      const secrets = yield* sql<{ secret: string }>`
        SELECT password_hash AS secret FROM users WHERE id = ${rider.id}
        UNION ALL SELECT token_hash FROM personal_access_tokens WHERE user_id = ${rider.id}
        UNION ALL SELECT id::text FROM sessions WHERE user_id = ${rider.id}`
      assert.strictEqual(secrets.length, 3)
      const linkTokens = linked.map(({ body }) =>
        Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(body).token
      )
      for (
        const secret of [
          token,
          rider.token,
          rider.password,
          ...linkTokens,
          ...secrets.map(({ secret }) => secret)
        ]
      ) {
        assert.notInclude(text, secret)
      }
      for (const shared of [route, collection]) assert.include(text, shareTokenOf(shared))
    }))

  it.effect("is for the account's own session, and stays open while it is to be deleted; an import does not", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const script = yield* scriptOf(rider, "write")
      const { bytes } = yield* exported(rider)
      assert.strictEqual((yield* script.get("/users/me/export")).status, 403)
      assert.strictEqual((yield* (yield* anonymous).get("/users/me/export")).status, 401)
      yield* SqlClient.SqlClient.use((sql) =>
        sql`UPDATE users SET deletion_requested_at = '1970-01-01T00:00:00Z' WHERE id = ${rider.id}`
      )
      const again = yield* exported(rider)
      assert.deepStrictEqual(Object.keys(yield* unzipped(again.bytes)).length, 6)
      assert.strictEqual((yield* imported(rider, bytes)).status, 403)
    }))

  it.effect("is counted like an import as one of the costly calls", () =>
    Effect.sync(() => {
      const tiers = Object.values(Api.groups.accountData.endpoints).map(({ annotations }) =>
        Context.get(annotations, Tier)
      )
      assert.deepStrictEqual(tiers, ["strict", "strict"])
    }))
})
