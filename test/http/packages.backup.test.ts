import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Rider, signedIn } from "../support/Actors.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { rps } from "../support/CommandLine.ts"
import { idOf, idsIn } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const ZONE = { center: [9.5209, 47.1415], radius: 500, label: "Home" }

const AWAY = { center: [9, 46], radius: 200 }

/** Runs the command line with a token of the rider, and returns what it prints. */
const printed = Effect.fnUntraced(function*(rider: Rider, scope: "read" | "write", ...words: ReadonlyArray<string>) {
  const { origin } = yield* TestServer
  const { token } = yield* mint(rider, scope)
  const env = { RPS_URL: origin, RPS_TOKEN: token, RPS_CONFIG_DIR: yield* temporaryDirectory }
  const { stderr, stdout } = yield* rps(env, words)
  return `${stdout}${stderr}`
})

const linksOf = (rider: Rider, path: string) =>
  Effect.map(
    rider.get(`${path}/links`),
    ({ body }) => Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ label: Schema.NullOr(Schema.String) })))(body)
  )

const setZones = (rider: Rider, zones: ReadonlyArray<object>) =>
  rider.call("PUT", "/users/me/privacy-zones", { body: { zones } })

layer(TestServer.layer())("a backup of the command line", (it) => {
  it.effect("has links, zones and preferences, and brings back what is missing, into the same account or another", () =>
    Effect.gen(function*() {
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const route = yield* makeRoute(ada, { visibility: "public" })
      const { id: collection } = yield* make(ada, { routeIds: [route] })
      yield* ada.post(`/routes/${route}/links`, { label: "Club" })
      const link = idOf({
        shareToken: "",
        ...Object((yield* ada.post(`/collections/${collection}/links`, { label: "All" })).body)
      })
      yield* setZones(ada, [ZONE])
      const avatar = "https://pictures.example.com/ada.png"
      const preferences = { units: "imperial", overlays: { contour: true, wind: true }, routingDefaults: { run: {} } }
      yield* ada.patch("/users/me", { avatar, preferences })
      const copy = join(yield* temporaryDirectory, "copy")
      assert.strictEqual(yield* printed(ada, "read", "backup", copy), "5 saved, 0 deleted since the last time\n")
      assert.isTrue(existsSync(join(copy, "account.json")))
      assert.strictEqual(readdirSync(join(copy, "links")).length, 2)

      yield* bob.patch("/users/me", { preferences: { units: "metric", overlays: { wind: false } } })
      yield* setZones(bob, Array.from({ length: 10 }, (_, index) => ({ ...AWAY, radius: 200 + index })))
      const full = yield* printed(bob, "write", "restore", copy)
      assert.match(full, /no room for all privacy zones .* so none was copied: remove privacy zones of the account/)
      assert.deepStrictEqual(idsIn((yield* bob.get("/routes")).body), [])
      yield* setZones(bob, [AWAY])
      const restored = yield* printed(bob, "write", "restore", copy)
      assert.strictEqual(restored, "1 routes restored, 0 already there, 0 refused\n")
      assert.strictEqual(
        yield* printed(bob, "write", "restore", copy),
        "0 routes restored, 1 already there, 0 refused\n"
      )
      assert.deepStrictEqual((yield* bob.get("/users/me/privacy-zones")).body, { zones: [AWAY, ZONE] })
      const merged = { ...preferences, units: "metric", overlays: { contour: true, wind: false } }
      assert.deepInclude((yield* bob.get("/users/me")).body, { avatar, preferences: merged })
      const [made] = idsIn((yield* bob.get("/routes")).body)
      const [list] = idsIn((yield* bob.get("/collections")).body)
      assert.deepStrictEqual(yield* linksOf(bob, `/routes/${made}`), [{ label: "Club" }])
      assert.deepStrictEqual(yield* linksOf(bob, `/collections/${list}`), [{ label: "All" }])

      yield* ada.delete(`/collections/${collection}/links/${link}`)
      assert.strictEqual(
        yield* printed(ada, "write", "restore", copy),
        "0 routes restored, 1 already there, 0 refused\n"
      )
      assert.deepStrictEqual(yield* linksOf(ada, `/collections/${collection}`), [{ label: "All" }])
      assert.deepStrictEqual((yield* linksOf(ada, `/routes/${route}`)).length, 1)
    }))

  it.effect("without GPX reads no route on its own, and keeps no older file of a route that has changed", () =>
    Effect.gen(function*() {
      const ada = yield* signedIn
      const [changed] = [yield* makeRoute(ada), yield* makeRoute(ada)]
      const copy = join(yield* temporaryDirectory, "copy")
      yield* printed(ada, "read", "backup", copy, "--no-gpx")
      const isGpx = (file: string) => file.endsWith(".gpx")
      assert.deepStrictEqual(readdirSync(join(copy, "routes")).map(isGpx), [false, false])
      const full = join(yield* temporaryDirectory, "full")
      yield* printed(ada, "read", "backup", full)
      yield* ada.patch(`/routes/${changed}`, { name: "Changed" })
      yield* printed(ada, "read", "backup", full, "--no-gpx")
      assert.strictEqual(readdirSync(join(full, "routes")).filter(isGpx).length, 1)
      assert.deepStrictEqual(readdirSync(join(full, "deleted", "routes")), [`${changed}.gpx`])
      yield* printed(ada, "read", "backup", copy)
      assert.strictEqual(readdirSync(join(copy, "routes")).filter(isGpx).length, 2)
    }))

  it.effect("makes nothing twice where a run ended before it kept what it had stored", () =>
    Effect.gen(function*() {
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const route = yield* makeRoute(ada)
      yield* make(ada, { routeIds: [route] })
      yield* ada.post(`/routes/${route}/links`, { label: "Club" })
      const copy = join(yield* temporaryDirectory, "copy")
      yield* printed(ada, "read", "backup", copy)
      const file = join(
        copy,
        "restored",
        `${new URL((yield* TestServer).origin).host.replace(":", "-")}-${bob.id}.json`
      )
      const begun = JSON.stringify({ routes: {}, collections: {}, run: crypto.randomUUID() })
      mkdirSync(dirname(file))
      for (const _ of ["first", "again"]) {
        writeFileSync(file, begun)
        const out = yield* printed(bob, "write", "restore", copy)
        assert.strictEqual(out, "1 routes restored, 0 already there, 0 refused\n")
        assert.notInclude(readFileSync(file, "utf8"), "run")
      }
      const [made, ...others] = idsIn((yield* bob.get("/routes")).body)
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(yield* linksOf(bob, `/routes/${made}`), [{ label: "Club" }])
      assert.strictEqual(idsIn((yield* bob.get("/collections")).body).length, 1)
      yield* bob.delete(`/routes/${made}`)
      assert.include(yield* printed(bob, "write", "restore", copy), "1 routes restored")
    }))

  it.effect("sets aside what was deleted, and starts again where its cursor leads on no longer", () =>
    Effect.gen(function*() {
      const ada = yield* signedIn
      const route = yield* makeRoute(ada)
      const copy = join(yield* temporaryDirectory, "copy")
      yield* ada.post(`/routes/${route}/links`, {})
      yield* printed(ada, "read", "backup", copy)
      const { origin } = yield* TestServer
      // The cursor of an earlier version leads to no links.
      writeFileSync(join(copy, "backup.json"), JSON.stringify({ origin, userId: ada.id, cursor: "x" }))
      yield* ada.delete(`/routes/${route}`)
      assert.strictEqual(yield* printed(ada, "read", "backup", copy), "1 saved, 0 deleted since the last time\n")
      for (const folder of ["routes", "links"]) {
        assert.deepStrictEqual(readdirSync(join(copy, folder)), [])
        assert.isNotEmpty(readdirSync(join(copy, "deleted", folder)))
      }
    }))

  it.effect("goes on to set aside what was deleted where an earlier run ended before it had the whole account", () =>
    Effect.gen(function*() {
      const ada = yield* signedIn
      const route = yield* makeRoute(ada)
      const copy = join(yield* temporaryDirectory, "copy")
      yield* printed(ada, "read", "backup", copy)
      const state = join(copy, "backup.json")
      const kept = readFileSync(state, "utf8")
      assert.notInclude(kept, "isUnsure")
      writeFileSync(join(copy, "routes", "999999.json"), "{}")
      writeFileSync(state, kept.replace("{", "{\"isUnsure\":true,"))
      yield* printed(ada, "read", "backup", copy)
      assert.deepStrictEqual(readdirSync(join(copy, "routes")).toSorted(), [`${route}.gpx`, `${route}.json`])
      assert.deepStrictEqual(readdirSync(join(copy, "deleted", "routes")), ["999999.json"])
      assert.notInclude(readFileSync(state, "utf8"), "isUnsure")
    }))

  it.effect("brings back a route whose source one in the trash has, and names what is refused", () =>
    Effect.gen(function*() {
      const ada = yield* signedIn
      const copy = join(yield* temporaryDirectory, "copy")
      const route = yield* makeRoute(ada, { source: { provider: "strava", externalId: "1" } })
      yield* printed(ada, "read", "backup", copy)
      yield* ada.delete(`/routes/${route}`)
      const out = yield* printed(ada, "write", "restore", copy)
      assert.strictEqual(out, "1 routes restored, 0 already there, 0 refused\n")
      const [made] = idsIn((yield* ada.get("/routes")).body)
      yield* ada.delete(`/routes/${made}`)
      const file = join(copy, "routes", `${route}.json`)
      writeFileSync(file, readFileSync(file, "utf8").replace(/"name":\s*"[^"]*"/, "\"name\":\"\""))
      assert.match(yield* printed(ada, "write", "restore", copy), new RegExp(`^route ${route}: .*name`, "m"))
    }))

  it.effect("of an account into which another one was restored adds to that one no route whose source it has", () =>
    Effect.gen(function*() {
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const route = yield* makeRoute(ada, { source: { provider: "strava", externalId: "1" } })
      const directory = yield* temporaryDirectory
      const [copy, copied] = [join(directory, "copy"), join(directory, "copied")]
      yield* printed(ada, "read", "backup", copy)
      yield* printed(bob, "write", "restore", copy)
      yield* make(bob, { name: "Bob's", routeIds: idsIn((yield* bob.get("/routes")).body) })
      yield* printed(bob, "read", "backup", copied)
      const out = yield* printed(ada, "write", "restore", copied)
      assert.strictEqual(out, "0 routes restored, 1 already there, 0 refused\n")
      assert.deepStrictEqual(idsIn((yield* ada.get("/routes")).body), [route])
      const [list] = idsIn((yield* ada.get("/collections")).body)
      assert.deepInclude((yield* ada.get(`/collections/${list}`)).body, { routeIds: [route] })
    }))

  it.effect("brings back what a collection has of others, and goes on past what is refused", () =>
    Effect.gen(function*() {
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const [shown, hidden] = [
        yield* makeRoute(bob, { visibility: "public" }),
        yield* makeRoute(bob, { visibility: "public" })
      ]
      const own = yield* makeRoute(ada)
      const { id } = yield* make(ada, { name: "Passes", routeIds: [shown, own, hidden] })
      const { id: refused } = yield* make(ada, { name: "Refused" })
      yield* ada.post(`/routes/${own}/links`, { label: "Club" })
      const copy = join(yield* temporaryDirectory, "copy")
      yield* printed(ada, "read", "backup", copy)
      for (const path of [`/routes/${own}`, `/collections/${id}`, `/collections/${refused}`]) yield* ada.delete(path)
      yield* bob.patch(`/routes/${hidden}`, { visibility: "private" })
      const file = join(copy, "collections", `${refused}.json`)
      writeFileSync(file, readFileSync(file, "utf8").replace("\"Refused\"", "\"\""))
      const out = yield* printed(ada, "write", "restore", copy)
      assert.include(out, "1 routes restored, 0 already there, 2 refused\n")
      assert.match(out, new RegExp(`^collection ${refused}: .*name`, "m"))
      assert.match(out, new RegExp(`^route ${hidden} of collection ${id}: It is of another account`, "m"))
      const [made] = idsIn((yield* ada.get("/routes")).body)
      const [list] = idsIn((yield* ada.get("/collections")).body)
      assert.deepInclude((yield* ada.get(`/collections/${list}`)).body, { routeIds: [shown, made] })
      assert.deepStrictEqual(yield* linksOf(ada, `/routes/${made}`), [{ label: "Club" }])
    }))
})
