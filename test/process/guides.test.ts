import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Rider, signedIn } from "../support/Actors.ts"
import { zipped } from "../support/Archives.ts"
import { listening } from "../support/Listening.ts"
import { newRoute } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const GUIDES = join(import.meta.dirname, "../../docs/guides")

/** Writes the code of a guide under the name in its first line, and returns the path. */
const codeOf = (guide: string, name: string, folder: string) => {
  const blocks = readFileSync(join(GUIDES, guide), "utf8").split("```js\n").slice(1).map((rest) =>
    rest.split("```\n")[0]
  )
  const path = join(folder, name)
  writeFileSync(path, blocks.find((block) => block?.startsWith(`// ${name}\n`)) ?? "")
  return path
}

/** Runs a script of a guide as its reader does. */
const runAt = (service: string, script: string, folder: string, token: string) =>
  Effect.callback<string, Error>((resume) => {
    const env = { ...process.env, SERVICE: service, TOKEN: token }
    execFile(process.execPath, [script, folder], { env }, (error, stdout, stderr) => {
      resume(error === null ? Effect.succeed(`${stderr}${stdout}`) : Effect.fail(error))
    })
  })

const run = (script: string, folder: string, token: string) =>
  Effect.flatMap(TestServer, ({ origin }) => runAt(origin, script, folder, token))

const Listed = Schema.Array(Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  visibility: Schema.String,
  geometry: Schema.optionalKey(Schema.Unknown)
}))

const routesOf = Effect.fnUntraced(function*(rider: Rider) {
  const { body } = yield* rider.get("/routes?sort=name&geometry=full")
  return yield* Schema.decodeUnknownEffect(Listed)(body)
})

const Id = Schema.Struct({ id: Schema.Int })

const idIn = (body: unknown) => Schema.decodeUnknownSync(Id)(body).id

interface PageModule {
  readonly saveRoute: (service: string, token: string, route: object, key: string) => Promise<{ readonly id: number }>
  readonly signInLinks: (service: string, here: string) => Promise<ReadonlyArray<{ name: string; href: string }>>
}

const isPageModule = (module: object): module is PageModule => "saveRoute" in module && "signInLinks" in module

const OIDC = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "id", OIDC_CLIENT_SECRET: "x", OIDC_NAME: "Club" }

layer(TestServer.layer(OIDC))("the code of the guides", (it) => {
  it.effect("saves a route from a page, says why it cannot, and lists ways to sign in", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const path = codeOf("a-page-that-saves-routes.md", "routes.js", yield* temporaryDirectory)
      writeFileSync(join(path, "../package.json"), `{"type":"module"}`)
      const page: object = yield* Effect.promise(() => import(pathToFileURL(path).href))
      assert.isTrue(isPageModule(page))
      if (!isPageModule(page)) return
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write")
      const save = Effect.promise(() => page.saveRoute(origin, token, newRoute({ name: "From a page" }), "one"))
      const { id } = yield* save
      assert.strictEqual((yield* save).id, id)
      assert.deepInclude((yield* rider.get(`/routes/${id}`)).body, { name: "From a page", visibility: "private" })
      const refusal = yield* Effect.flip(Effect.tryPromise({
        try: () => page.saveRoute(origin, "no token", newRoute({}), "other"),
        catch: (error) => error instanceof Error ? error.message : ""
      }))
      assert.match(refusal, /token|credential/i)
      const here = "http://localhost:3000/me/revoke-tokens?a=b"
      const links = yield* Effect.promise(() => page.signInLinks(origin, here))
      assert.deepStrictEqual(links, [{
        name: "Club",
        href: `http://localhost:3000/api/v1/auth/oidc/oidc/start?return=${encodeURIComponent(here)}`
      }])
    }))

  it.effect("keeps a backup that follows the account, and restores it into another", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const backup = codeOf("a-nightly-backup.md", "backup.mjs", folder)
      const restore = codeOf("a-nightly-backup.md", "restore.mjs", folder)
      const kept = join(folder, "kept")
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "read")
      // The third route has the first id of three digits.
      yield* SqlClient.SqlClient.use((sql) => sql`SELECT setval(pg_get_serial_sequence('routes', 'id'), 97)`)
      const ids = yield* Effect.forEach(["First", "Second", "Third"], (name) =>
        Effect.map(
          rider.post(
            "/routes",
            newRoute({ name, visibility: "public", source: { provider: "strava", externalId: name } })
          ),
          ({ body }) => idIn(body)
        ))
      const collection = idIn((yield* rider.post("/collections", { name: "Both", routeIds: ids })).body)
      const linked = idIn((yield* rider.post(`/routes/${ids[0]}/links`, { label: "Club" })).body)
      const unlinked = idIn((yield* rider.post(`/collections/${collection}/links`, {})).body)
      const equal = idIn((yield* rider.post("/collections", { name: "Both", routeIds: ids })).body)
      const equalLink = idIn((yield* rider.post(`/routes/${ids[0]}/links`, { label: "Club" })).body)
      const zone = { center: [9.5209, 47.1415], radius: 500, label: "Home" }
      yield* rider.call("PUT", "/users/me/privacy-zones", { body: { zones: [zone] } })
      yield* rider.patch("/users/me", { preferences: { units: "imperial" } })
      yield* run(backup, kept, token)
      assert.include(readdirSync(kept), `link-${unlinked}.json`)
      yield* rider.delete(`/collections/${collection}/links/${unlinked}`)
      yield* rider.delete(`/routes/${ids[1]}`)
      yield* rider.patch(`/routes/${ids[2]}`, { name: "Renamed" })
      yield* run(backup, kept, token)
      assert.deepStrictEqual(
        readdirSync(kept).toSorted(),
        [
          `account-${rider.id}.json`,
          `collection-${collection}.json`,
          `collection-${equal}.json`,
          "cursor",
          `link-${linked}.json`,
          `link-${equalLink}.json`,
          `route-${ids[0]}.json`,
          `route-${ids[2]}.json`
        ].toSorted()
      )
      // Without a cursor the script begins again, as it does with one of another database.
      writeFileSync(join(kept, "route-999999.json"), "{}")
      writeFileSync(join(kept, "cursor"), "")
      writeFileSync(join(kept, "notes.txt"), "mine")
      yield* run(backup, kept, token)
      assert.notInclude(readdirSync(kept), "route-999999.json")
      assert.include(readdirSync(kept), "notes.txt")

      const other = yield* signedIn
      const writing = yield* mint(other, "write")
      const away = { center: [9, 46], radius: 200 }
      yield* other.call("PUT", "/users/me/privacy-zones", { body: { zones: [away] } })
      for (let round = 0; round < 2; round++) {
        assert.strictEqual(yield* run(restore, kept, writing.token), "2 routes restored\n")
      }
      const withoutId = ({ id: _id, ...route }: (typeof Listed.Type)[number]) => route
      const restored = yield* routesOf(other)
      assert.deepStrictEqual(restored.map(withoutId), (yield* routesOf(rider)).map(withoutId))
      const newest = yield* Schema.decodeUnknownEffect(Listed)((yield* other.get("/routes")).body)
      assert.deepStrictEqual(newest.map(({ name }) => name), ["Renamed", "First"])
      const { body } = yield* other.get("/collections")
      const collections = Array.isArray(body) ? body : []
      assert.lengthOf(collections, 2)
      for (const each of collections) {
        assert.deepInclude(each, { name: "Both", routeIds: [restored[0]?.id, restored[1]?.id] })
      }
      assert.deepStrictEqual((yield* other.get("/users/me/privacy-zones")).body, { zones: [away, zone] })
      assert.deepInclude((yield* other.get("/users/me")).body, { preferences: { units: "imperial" } })
      const links = (yield* other.get(`/routes/${restored[0]?.id}/links`)).body
      assert.strictEqual(Array.isArray(links) && links.length, 2)
      assert.deepInclude(Array.isArray(links) ? links[0] : links, { label: "Club" })
      yield* rider.patch(`/routes/${ids[0]}`, { name: "Changed since" })
      yield* run(backup, kept, token)
      // The source of the changed route is that of the first restored one.
      assert.strictEqual(yield* run(restore, kept, writing.token), "2 routes restored\n")
      assert.sameMembers((yield* routesOf(other)).map(({ name }) => name), ["First", "Renamed", "Changed since"])
    }))

  it.effect("sends the token to no other application beside a service below a path", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const asked: Array<string> = []
      const port = yield* listening(createServer(({ url = "" }, response) => {
        asked.push(url)
        response.writeHead(400).end("{}")
      }))
      const archive = join(folder, "export.zip")
      writeFileSync(archive, "")
      writeFileSync(join(folder, "account-1.json"), "{}")
      const scripts = [["a-nightly-backup.md", "backup.mjs"], ["a-nightly-backup.md", "restore.mjs"], [
        "moving.md",
        "move.mjs"
      ]] as const
      for (const [guide, name] of scripts) {
        const given = name === "move.mjs" ? archive : folder
        yield* Effect.flip(runAt(`http://127.0.0.1:${port}/routes/`, codeOf(guide, name, folder), given, "secret"))
      }
      assert.deepStrictEqual(asked.map((url) => url.startsWith("/routes/api/v1/")), [true, true, true])
    }))

  it.effect("imports a ZIP of another service once, and names what it cannot read", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const move = codeOf("moving.md", "move.mjs", folder)
      const rider = yield* signedIn
      const { token } = yield* mint(rider, "write")
      const gpx = (name: string, latitude: number) =>
        `<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>${name}</name><trkseg>`
        + [0, 1, 2].map((n) => `<trkpt lat="${latitude + n / 100}" lon="9.5"/>`).join("") + "</trkseg></trk></gpx>"
      const archive = join(folder, "export.zip")
      writeFileSync(
        archive,
        yield* zipped([
          ["a.gpx", gpx("A", 47)],
          ["2024/b.GPX", gpx("B", 48)],
          ["2024/broken.gpx", "<gpx>"],
          ["notes.txt", "x"]
        ])
      )
      const first = yield* run(move, archive, token)
      assert.include(first, "2 imported, 0 here already, 2 skipped")
      assert.match(first, /^2024\/broken\.gpx: skipped, ./m)
      assert.include(yield* run(move, archive, token), "0 imported, 2 here already, 2 skipped")
      assert.deepStrictEqual((yield* routesOf(rider)).map(({ name }) => name), ["A", "B"])
    }))
})
