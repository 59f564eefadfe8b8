import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { inFront, person, rps, rpsInShell, running } from "../support/CommandLine.ts"
import { listening } from "../support/Listening.ts"
import { newRoute } from "../support/Routes.ts"
import { temporaryDirectory } from "../support/TemporaryDirectory.ts"
import { TestServer } from "../support/TestServer.ts"
import { metresFrom, positionsOf, ray, setZones } from "../support/Zones.ts"

const Made = Schema.Struct({ id: Schema.Int })

const idOf = (body: unknown) => Schema.decodeUnknownSync(Made)(body).id

const Listed = Schema.Array(Schema.Struct({ id: Schema.Int, name: Schema.String, tags: Schema.Array(Schema.String) }))

const routesOf = Effect.fnUntraced(function*(rider: Rider) {
  return Schema.decodeUnknownSync(Listed)((yield* rider.get("/routes?sort=name")).body)
})

const names = (body: unknown) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ name: Schema.String })))(body).map(({ name }) => name)

const Zones = Schema.Struct({ zones: Schema.Array(Schema.Unknown) })

const CollectionsListed = Schema.Array(
  Schema.Struct({ id: Schema.Int, name: Schema.String, routeIds: Schema.Array(Schema.Int) })
)

const collectionsOf = Effect.fnUntraced(function*(rider: Rider) {
  return Schema.decodeUnknownSync(CollectionsListed)((yield* rider.get("/collections")).body)
})

/** Starts a proxy of the server that counts the batches. */
const batchesTo = Effect.gen(function*() {
  let count = 0
  const origin = yield* inFront(({ url }) =>
    Effect.sync(() => {
      if (url?.endsWith("/routes/batch") === true) count++
    })
  )
  return { origin, count: () => count }
})

/** Starts a proxy of the server that holds the first request for changes. */
const holding = Effect.gen(function*() {
  const [isHeld, letGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const RPS_URL = yield* inFront(({ url }) =>
    url?.startsWith("/api/v1/sync") === true
      ? Effect.flatMap(Deferred.succeed(isHeld, undefined), (isFirst) => isFirst ? Deferred.await(letGo) : Effect.void)
      : Effect.void
  )
  return { RPS_URL, isHeld, letGo }
})

layer(TestServer.layer())("rps login", (it) => {
  it.effect("makes a token, keeps it where only its owner reads it, and shows it nowhere", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const RPS_CONFIG_DIR = yield* temporaryDirectory
      const env = { RPS_CONFIG_DIR, RPS_URL: undefined, RPS_TOKEN: undefined, RPS_PASSWORD: rider.password }
      const signed = yield* rps(env, ["login", origin, "--email", rider.email, "--scope", "read", "--json"])
      assert.strictEqual(signed.code, 0, signed.stderr)
      assert.deepInclude(JSON.parse(signed.stdout), { origin })
      const file = join(RPS_CONFIG_DIR, "logins.json")
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const { tokens } = JSON.parse(readFileSync(file, "utf8"))
      assert.match(tokens[origin], /^service_pat_/)
      assert.notInclude(signed.stdout + signed.stderr, tokens[origin])
      assert.strictEqual((yield* rps(env, ["ls"])).code, 0)
      const { body } = yield* rider.get("/auth/tokens")
      assert.include(JSON.stringify(body), "\"scope\":\"read\"")
      const refused = yield* rps({ ...env, RPS_PASSWORD: "wrong password" }, ["login", origin, "--email", rider.email])
      assert.strictEqual(refused.code, 3)
      assert.notInclude(refused.stderr, "wrong password")
      assert.strictEqual(JSON.parse(readFileSync(file, "utf8")).tokens[origin], tokens[origin])
      const HOME = yield* temporaryDirectory
      const unset = { HOME, RPS_CONFIG_DIR: "", XDG_CONFIG_HOME: "" }
      yield* rps({ ...env, ...unset }, ["login", origin, "--email", rider.email, "--scope", "read"])
      assert.deepStrictEqual(readdirSync(join(HOME, ".config", "rps")), ["logins.json"])
    }))

  it.effect("leaves no token behind where it cannot keep it", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const rider = yield* signedIn
      const RPS_CONFIG_DIR = yield* temporaryDirectory
      const env = { RPS_CONFIG_DIR, RPS_URL: undefined, RPS_TOKEN: undefined, RPS_PASSWORD: rider.password }
      const words = ["login", origin, "--email", rider.email]
      const file = join(RPS_CONFIG_DIR, "logins.json")
      writeFileSync(file, "{")
      const broken = yield* rps(env, words)
      const message = `rps: ${file}: not a file of logins: remove it, and run rps login again\n`
      assert.deepStrictEqual([broken.code, broken.stderr], [1, message])
      rmSync(file)
      const unsaved = yield* rpsInShell(env, `ulimit -f 0; rps ${words.join(" ")}`)
      assert.deepStrictEqual([unsaved.code, unsaved.stderr], [1, "rps: EFBIG: file too large, write\n"])
      assert.deepStrictEqual(readdirSync(RPS_CONFIG_DIR), [])
      assert.deepStrictEqual((yield* rider.get("/auth/tokens")).body, [])
    }))

  it.effect("ends with a code of its own without a login, with a revoked token, with a wrong address, without a service", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const RPS_CONFIG_DIR = yield* temporaryDirectory
      const nobody = { RPS_CONFIG_DIR, RPS_URL: undefined, RPS_TOKEN: undefined }
      const first = yield* rps(nobody, ["ls"])
      assert.deepStrictEqual([first.code, first.stderr], [3, "rps: not signed in: run rps login URL first\n"])
      const revoked = `service_pat_${"0".repeat(8)}_${"a".repeat(43)}`
      const second = yield* rps({ ...nobody, RPS_URL: origin, RPS_TOKEN: revoked }, ["ls", "--json"])
      assert.strictEqual(second.code, 3, second.stderr)
      assert.deepInclude(JSON.parse(second.stderr).error, { statusCode: 401 })
      assert.strictEqual((yield* rps(nobody, ["login", "routes.example.com"])).code, 2)
      const server = createServer()
      const away = yield* Effect.scoped(listening(server))
      const third = yield* rps({ ...nobody, RPS_TOKEN: revoked }, ["login", `http://127.0.0.1:${away}`])
      assert.deepStrictEqual([third.code, third.stderr], [5, `rps: http://127.0.0.1:${away} is not reachable\n`])
    }))
})

layer(TestServer.layer())("rps watch", (it) => {
  it.effect("runs a program with each change, and ends when it is interrupted", () =>
    Effect.gen(function*() {
      const { env, rider } = yield* person
      const line = `echo "$RPS_TYPE $RPS_ID $RPS_CHANGE" && node -p 'JSON.parse(fs.readFileSync(0)).version'`
      const once = yield* running(env, ["watch", "--once", "--exec", line], "Watching")
      const id = idOf((yield* rider.post("/routes", newRoute({}))).body)
      assert.deepStrictEqual(yield* once.ended, { code: 0, stdout: `route ${id} upserted\n1\n` })
      const failing = yield* running(env, ["watch", "--exec", "exit 7"], "Watching")
      yield* rider.patch(`/routes/${id}`, { name: "Changed" })
      assert.strictEqual((yield* failing.ended).code, 1)
      const endless = yield* running(env, ["watch"], "Watching")
      yield* endless.interrupt
      assert.strictEqual((yield* endless.ended).code, 130)
    }).pipe(Effect.scoped))
})

layer(TestServer.layer())("rps restore", (it) => {
  it.effect("refuses a run while another one has not ended", () =>
    Effect.gen(function*() {
      const [source, target] = [yield* person, yield* person]
      const { RPS_URL, isHeld, letGo } = yield* holding
      const copy = join(yield* temporaryDirectory, "copy")
      yield* source.rider.post("/routes", newRoute({}))
      yield* source.run("backup", copy)
      const restore = rps({ ...target.env, RPS_URL }, ["restore", copy])
      const first = yield* Effect.forkScoped(restore)
      yield* Deferred.await(isHeld)
      const second = yield* restore
      assert.strictEqual(second.code, 1)
      assert.include(second.stderr, "another rps restore is running")
      yield* Deferred.succeed(letGo, undefined)
      assert.strictEqual((yield* Fiber.join(first)).code, 0)
      assert.strictEqual((yield* routesOf(target.rider)).length, 1)
    }).pipe(Effect.scoped))
})

layer(TestServer.layer())("rps mirror", (it) => {
  it.effect("copies what changed since to another account, and leaves alone what else is there", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const source = yield* person
      const target = yield* person
      const mirror = (...words: ReadonlyArray<string>) =>
        rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin, ...words])
      const own = idOf((yield* target.rider.post("/routes", newRoute({ name: "Own" }))).body)
      const ids: Array<number> = []
      for (const name of ["A", "B", "C"]) {
        ids.push(idOf((yield* source.rider.post("/routes", newRoute({ name, visibility: "unlisted" }))).body))
      }
      const collection = idOf(
        (yield* source.rider.post("/collections", { name: "All", routeIds: ids.toReversed() })).body
      )
      assert.strictEqual((yield* mirror()).stdout, "4 copied, 0 deleted, 0 refused\n")
      assert.strictEqual((yield* mirror()).stdout, "0 copied, 0 deleted, 0 refused\n")
      const copies = yield* routesOf(target.rider)
      assert.deepStrictEqual(copies.map(({ name }) => name), ["A", "B", "C", "Own"])
      const [copied] = yield* collectionsOf(target.rider)
      assert.deepStrictEqual(copied?.routeIds, copies.slice(0, 3).map(({ id }) => id).toReversed())

      yield* source.rider.patch(`/routes/${ids[0]}`, { tags: ["alps"] })
      yield* source.rider.delete(`/routes/${ids[1]}`)
      yield* source.rider.delete(`/collections/${collection}`)
      assert.deepStrictEqual(JSON.parse((yield* mirror("--json")).stdout), { copied: 1, deleted: 2, refused: 0 })
      const left = yield* routesOf(target.rider)
      assert.deepStrictEqual(left.map(({ name, tags }) => [name, tags.length]), [["A", 1], ["C", 0], ["Own", 0]])
      assert.deepStrictEqual(yield* collectionsOf(target.rider), [])
      yield* source.rider.post(`/routes/${ids[1]}/restore`)
      assert.strictEqual((yield* mirror()).stdout, "1 copied, 0 deleted, 0 refused\n")
      assert.strictEqual((yield* routesOf(target.rider)).filter(({ name }) => name === "B").length, 1)
      assert.include((yield* routesOf(target.rider)).map(({ id }) => id), own)
    }))

  it.effect("names the routes of others that a collection loses", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target, other] = [yield* person, yield* person, yield* person]
      const mirror = rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const shown = idOf((yield* other.rider.post("/routes", newRoute({ visibility: "public" }))).body)
      const own = idOf((yield* source.rider.post("/routes", newRoute({}))).body)
      const id = idOf((yield* source.rider.post("/collections", { name: "All", routeIds: [own, shown] })).body)
      const { code, stdout } = yield* mirror
      const lost = `route ${shown} of collection ${id}: It is of another account, and not to be seen here\n`
      assert.deepStrictEqual([code, stdout], [4, `${lost}2 copied, 0 deleted, 1 refused\n`])
      assert.strictEqual((yield* mirror).code, 0)
    }))

  it.effect("has routes and collections in the order of the source from the first run on", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target] = [yield* person, yield* person]
      for (const name of ["B", "C", "A"]) {
        yield* source.rider.post("/routes", newRoute({ name, geometry: ray([9, 47], 1, 100) }))
        yield* source.rider.post("/collections", { name })
      }
      yield* rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const namesOf = (rider: Rider, path: string) => Effect.map(rider.get(path), ({ body }) => names(body))
      for (const path of ["/routes", "/collections"]) {
        assert.deepStrictEqual(yield* namesOf(source.rider, path), ["A", "C", "B"])
        assert.deepStrictEqual(yield* namesOf(target.rider, path), ["A", "C", "B"])
      }
      const { body } = yield* target.rider.get("/routes?geometry=full")
      assert.isNotEmpty(positionsOf(Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))(body)[0]))
    }))

  it.effect("keeps what it has copied of a first run that is broken off, and of the next one", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target] = [yield* person, yield* person]
      const operations = Array.from({ length: 60 }, () => ({ op: "create", route: newRoute({}) }))
      yield* source.rider.post("/routes/batch", { operations })
      let reads = 0
      const port = yield* listening(createServer(({ headers: { authorization = "" }, url = "" }, response) => {
        const isOfOne = /\/routes\/\d+/.test(url)
        if (isOfOne) reads++
        response.setHeader("content-type", "application/json")
        if (url.includes("sort=createdAt") || reads > 55) return void response.writeHead(403).end("{}")
        return void fetch(`${origin}${url}`, { headers: { authorization } }).then(async (answer) =>
          response.writeHead(answer.status).end(await answer.text())
        )
      }))
      const env = { ...source.env, RPS_URL: `http://127.0.0.1:${port}`, RPS_TO_TOKEN: target.env.RPS_TOKEN }
      const batches = yield* batchesTo
      for (const copied of [0, 50]) {
        assert.notStrictEqual((yield* rps(env, ["mirror", "--to", batches.origin])).code, 0)
        assert.strictEqual(batches.count(), copied / 50)
        const file = readdirSync(join(env.RPS_CONFIG_DIR, "mirrors")).find((name) => name.endsWith(".json")) ?? ""
        const state = JSON.parse(readFileSync(join(env.RPS_CONFIG_DIR, "mirrors", file), "utf8"))
        assert.lengthOf(Object.keys(state.ids.routes), copied)
      }
    }))

  it.effect("sends a route with its line once", () =>
    Effect.gen(function*() {
      const [source, target, batches] = [yield* person, yield* person, yield* batchesTo]
      const cues = [{ instruction: "Go", type: 8, begin_shape_index: 0, length: 0.1, time: 9 }]
      const geometry = ray([9, 47], 1, 100).map(([lng, lat], index) => [lng, lat, 400 + index * 9])
      yield* source.rider.post("/routes", newRoute({ geometry, segments: [0, 2], cues, tags: ["alps"] }))
      const env = { ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }
      assert.strictEqual((yield* rps(env, ["mirror", "--to", batches.origin])).code, 0)
      assert.strictEqual(batches.count(), 1)
    }).pipe(Effect.scoped))

  it.effect("makes nothing twice where what it knew is lost, and makes a copy again that was deleted there", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const source = yield* person
      const target = yield* person
      const mirror = (RPS_CONFIG_DIR: string) =>
        rps({ ...source.env, RPS_CONFIG_DIR, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const id = idOf((yield* source.rider.post("/routes", newRoute({ name: "A" }))).body)
      assert.strictEqual((yield* mirror(source.env.RPS_CONFIG_DIR)).code, 0)
      yield* source.rider.patch(`/routes/${id}`, { name: "A2" })
      const fresh = yield* temporaryDirectory
      const again = yield* mirror(fresh)
      assert.strictEqual(again.stdout, "1 copied, 0 deleted, 0 refused\n", again.stderr)
      const [copied, ...others] = yield* routesOf(target.rider)
      assert.deepStrictEqual([copied?.name, others], ["A2", []])
      yield* target.rider.delete(`/routes/${copied?.id}`)
      yield* source.rider.patch(`/routes/${id}`, { name: "A3" })
      assert.strictEqual((yield* mirror(fresh)).stdout, "1 copied, 0 deleted, 0 refused\n")
      assert.deepStrictEqual((yield* routesOf(target.rider)).map(({ name }) => name), ["A3"])
      assert.strictEqual(readdirSync(join(fresh, "mirrors")).length, 1)
    }))

  it.effect("makes copies again that were deleted there, in their collections", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target] = [yield* person, yield* person]
      const mirror = rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const routeIds: Array<number> = []
      for (const name of ["A", "B", "C"]) {
        routeIds.push(idOf((yield* source.rider.post("/routes", newRoute({ name }))).body))
      }
      const tour = idOf((yield* source.rider.post("/collections", { name: "Tour", routeIds })).body)
      yield* source.rider.post("/collections", { name: "Best", routeIds: routeIds.slice(0, 1) })
      yield* mirror
      const edits = [[0, `/collections/${tour}`], [0, `/routes/${routeIds[0]}`], [2, `/routes/${routeIds[2]}`]] as const
      for (const [index, edited] of edits) {
        yield* target.rider.delete(`/routes/${(yield* routesOf(target.rider))[index]?.id}`)
        yield* source.rider.patch(edited, { description: `Edit of ${edited}` })
        if ((yield* mirror).code !== 0) assert.strictEqual((yield* mirror).code, 0)
        const ids = (yield* routesOf(target.rider)).map(({ id }) => id)
        const copied = (yield* collectionsOf(target.rider)).map(({ name, routeIds }) => [name, routeIds])
        assert.sameDeepMembers(copied, [["Tour", ids], ["Best", ids.slice(0, 1)]])
      }
    }))

  it.effect("hides in the copies what privacy zones of the source hide, also those of before the zones", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target, visitor] = [yield* person, yield* person, yield* anonymous]
      const mirror = rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const [home, away] = [[9.5, 47.1], [9.6, 47.2]] as const
      const publish = (start: readonly [number, number]) =>
        source.rider.post("/routes", newRoute({ visibility: "public", geometry: ray(start, 1, 6000) }))
      yield* setZones(target.rider, [{ center: [9, 46], radius: 200 }])
      for (const [index, start] of [home, away].entries()) {
        yield* publish(start)
        yield* setZones(source.rider, [home, away].slice(0, index + 1).map((center) => ({ center, radius: 500 })))
        assert.strictEqual((yield* mirror).code, 0)
      }
      for (const { id } of yield* routesOf(target.rider)) {
        const shown = positionsOf((yield* visitor.get(`/routes/${id}`)).body)
        assert.isNotEmpty(shown)
        for (const center of [home, away]) {
          assert.isAbove(Math.min(...shown.map((position) => metresFrom(center, position))), 500)
        }
      }
      const { body } = yield* target.rider.get("/users/me/privacy-zones")
      assert.strictEqual(Schema.decodeUnknownSync(Zones)(body).zones.length, 3)
    }))

  it.effect("has the zones of the source in place of its earlier ones, and copies nothing where it lacks room for them", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target] = [yield* person, yield* person]
      const mirror = rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const zones = (lng: number, count: number) =>
        Array.from({ length: count }, (_, index) => ({ center: [lng, 40 + index], radius: 200 }))
      const publish = (name: string) => source.rider.post("/routes", newRoute({ name, visibility: "public" }))
      yield* setZones(target.rider, zones(9, 3))
      for (const [index, name] of ["A", "B", "C"].entries()) {
        yield* setZones(source.rider, zones(10 + index, 4))
        yield* publish(name)
        const { code, stderr } = yield* mirror
        assert.strictEqual(code, 0, stderr)
        const { body } = yield* target.rider.get("/users/me/privacy-zones")
        assert.deepStrictEqual(body, { zones: [...zones(9, 3), ...zones(10 + index, 4)] })
      }
      yield* setZones(source.rider, zones(13, 8))
      yield* publish("D")
      const full = yield* mirror
      assert.strictEqual(full.code, 1)
      assert.include(full.stderr, "remove privacy zones of the account, then run this again")
      assert.deepStrictEqual((yield* routesOf(target.rider)).map(({ name }) => name), ["A", "B", "C"])
      yield* setZones(target.rider, [])
      assert.strictEqual((yield* mirror).code, 0)
      assert.strictEqual((yield* routesOf(target.rider)).length, 4)
    }))

  it.effect("refuses a run while another one has not ended, and none after one that was killed", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target] = [yield* person, yield* person]
      const { RPS_URL, isHeld, letGo } = yield* holding
      const env = { ...source.env, RPS_URL, RPS_TO_TOKEN: target.env.RPS_TOKEN }
      const mirror = rps(env, ["mirror", "--to", origin])
      for (const name of ["A", "B"]) yield* source.rider.post("/routes", newRoute({ name }))
      const first = yield* Effect.forkScoped(mirror)
      yield* Deferred.await(isHeld)
      const second = yield* mirror
      const folder = join(env.RPS_CONFIG_DIR, "mirrors")
      const [lock = ""] = readdirSync(folder)
      const pid = readFileSync(join(folder, lock), "utf8")
      const message = `rps: another rps mirror is running: process ${pid} has ${join(folder, lock)}\n`
      assert.deepStrictEqual([second.code, second.stderr], [1, message])
      yield* Deferred.succeed(letGo, undefined)
      assert.strictEqual((yield* Fiber.join(first)).stdout, "2 copied, 0 deleted, 0 refused\n")
      assert.strictEqual((yield* routesOf(target.rider)).length, 2)
      assert.notInclude(readdirSync(folder), lock)
      writeFileSync(join(folder, lock), "999999999")
      assert.strictEqual((yield* mirror).stdout, "0 copied, 0 deleted, 0 refused\n")
      assert.notInclude(readdirSync(folder), lock)
    }).pipe(Effect.scoped))

  it.effect("is not of an account to itself, by whichever address", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const { env } = yield* person
      for (const to of [origin, yield* inFront(() => Effect.void)]) {
        const refused = yield* rps({ ...env, RPS_TO_TOKEN: env.RPS_TOKEN }, ["mirror", "--to", to])
        assert.deepStrictEqual([refused.code, refused.stderr], [2, "rps: --to is the account itself\n"])
      }
    }).pipe(Effect.scoped))
})

layer(TestServer.layer({ MAX_ROUTES_PER_USER: "2" }))("rps mirror to an account that is nearly full", (it) => {
  it.effect("adds a route to its collection once it is no longer refused", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const [source, target] = [yield* person, yield* person]
      const mirror = rps({ ...source.env, RPS_TO_TOKEN: target.env.RPS_TOKEN }, ["mirror", "--to", origin])
      const own = idOf((yield* target.rider.post("/routes", newRoute({ name: "Own" }))).body)
      const routeIds: Array<number> = []
      for (const name of ["A", "B"]) routeIds.push(idOf((yield* source.rider.post("/routes", newRoute({ name }))).body))
      yield* source.rider.post("/collections", { name: "All", routeIds })
      const refused = yield* mirror
      assert.strictEqual(refused.code, 4)
      assert.include(refused.stdout, "2 copied, 0 deleted, 1 refused\n")
      yield* target.rider.delete(`/routes/${own}`)
      yield* target.rider.delete(`/routes/deleted/${own}`)
      assert.strictEqual((yield* mirror).code, 0)
      const [copied, ...others] = yield* collectionsOf(target.rider)
      assert.deepStrictEqual(others, [])
      const names = new Map((yield* routesOf(target.rider)).map(({ id, name }) => [id, name]))
      assert.deepStrictEqual(copied?.routeIds.map((id) => names.get(id)), ["A", "B"])
    }))
})
