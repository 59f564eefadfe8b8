import { assert, layer } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Fiber, Redacted, Ref, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { makeClient, streamList } from "../../src/client.ts"
import type { Position } from "../../src/schema/Geometry.ts"
import { RATE_TIERS } from "../../src/schema/Limits.ts"
import { newEmail, signedIn } from "../support/Actors.ts"
import { areWaiting } from "../support/Copies.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"

const ROOT = join(import.meta.dirname, "../..")

const EXAMPLE = join(ROOT, "examples/client.ts")

const geometry: ReadonlyArray<Position> = [[9.5209, 47.1415, 455.25], [9.53, 47.1501]]

const ride = { name: "Around Vaduz", waypoints: [{ coord: [9.5209, 47.1415] }], geometry } as const

type Options = Omit<Parameters<typeof makeClient>[0], "baseUrl">

const clientWith = (options: Options = {}) =>
  Effect.flatMap(TestServer, ({ origin }) => makeClient({ baseUrl: origin, ...options })).pipe(
    Effect.provide(FetchHttpClient.layer)
  )

const scriptWith = Effect.fnUntraced(function*(scope: "read" | "write") {
  const { token } = yield* mint(yield* signedIn, scope)
  return yield* clientWith({ token: Redacted.make(token) })
})

layer(TestServer.layer())("the typed client", (it) => {
  it.effect("reads with a personal access token what it wrote with one: positions, not text", () =>
    Effect.gen(function*() {
      const script = yield* scriptWith("write")
      const made = yield* script.routes.create({ headers: {}, query: {}, payload: ride })
      const route = yield* script.routes.get({ headers: {}, params: { ref: made.id }, query: {} })
      assert.deepStrictEqual(route, made)
      assert.deepStrictEqual(route.geometry, geometry)
    }))

  it.effect("stores the polyline of a computed route as it is, and reads it back to the last digit", () =>
    Effect.gen(function*() {
      const script = yield* scriptWith("write")
      const polyline6 = "_mzbyA{lkgQwqC_yGo|JodI"
      const { name, waypoints } = ride
      const made = yield* script.routes.create({ headers: {}, query: {}, payload: { name, waypoints, polyline6 } })
      const decoded: ReadonlyArray<Position> = polyline.decode(polyline6, 6).map(([lat, lng]) => [lng, lat])
      assert.deepStrictEqual(made.geometry, decoded)
      assert.isAbove(made.distance ?? 0, 1000)
      const read = yield* script.routes.get({ headers: {}, params: { ref: made.id }, query: { geometry: "polyline6" } })
      assert.deepStrictEqual([read.polyline6, read.geometry], [polyline6, undefined])
      const change = { headers: {}, params: { id: made.id } }
      const changed = yield* script.routes.update({ ...change, payload: { polyline6: "" } })
      assert.deepStrictEqual(changed.geometry, [])
      const cleared = yield* script.routes.update({ ...change, payload: { polyline6: null } })
      assert.isUndefined(cleared.geometry)
    }))

  it.effect("sends a file of any format, and gets one", () =>
    Effect.gen(function*() {
      const script = yield* scriptWith("write")
      const made = yield* script.routes.create({ headers: {}, query: {}, payload: ride })
      const gpx = yield* script.files.gpx({ params: { ref: made.id }, query: {} })
      const geojson = yield* script.files.geojson({ params: { ref: made.id } })
      for (const payload of [gpx, geojson]) {
        const read = yield* script.files.import({ headers: {}, query: { duplicates: "allow" }, payload })
        assert.deepStrictEqual("geometry" in read ? read.geometry : undefined, geometry)
      }
      const looked = yield* script.files.import({ headers: {}, query: { dryRun: "true" }, payload: geojson })
      assert.deepInclude(looked, { format: "geojson" })
      const refused = yield* Effect.flip(script.files.import({ headers: {}, query: {}, payload: "<html>" }))
      assert.strictEqual(refused._tag, "ValidationFailed")
    }))

  it.effect("reads a response's headers", () =>
    Effect.gen(function*() {
      const script = yield* scriptWith("write")
      yield* script.routes.create({ headers: {}, query: {}, payload: ride })
      yield* script.routes.create({ headers: {}, query: {}, payload: ride })
      const [page, { headers }] = yield* script.routes.list({
        query: { limit: 1 },
        responseMode: "decoded-and-response"
      })
      assert.deepStrictEqual([page.length, headers["x-total-count"]], [1, "2"])
    }))

  it.effect("reads a list of many pages as one stream", () =>
    Effect.gen(function*() {
      const script = yield* scriptWith("write")
      const names = ["Five", "Four", "Three", "Two", "One"]
      for (const name of names.toReversed()) {
        yield* script.routes.create({ headers: {}, query: {}, payload: { ...ride, name } })
      }
      const listed = streamList(({ page, responseMode }) =>
        script.routes.list({ query: { limit: 2, geometry: "none", ...page }, responseMode })
      )
      assert.deepStrictEqual((yield* Stream.runCollect(listed)).map(({ name }) => name), names)
      const byOffset = streamList(({ page, responseMode }) =>
        script.routes.list({ query: { limit: 2, offset: 1, ...page }, responseMode })
      )
      assert.match(String(yield* Effect.exit(Stream.runCollect(byOffset))), /offset/)
    }))

  it.effect("fails with the service's own errors", () =>
    Effect.gen(function*() {
      const reader = yield* scriptWith("read")
      const writer = yield* scriptWith("write")
      const nobody = yield* clientWith()
      const errors = yield* Effect.all([
        Effect.flip(nobody.users.me()),
        Effect.flip(reader.routes.create({ headers: {}, query: {}, payload: ride })),
        Effect.flip(writer.routes.create({ headers: {}, query: {}, payload: { ...ride, visibility: "public" } })),
        Effect.flip(nobody.auth.verifyEmail({ payload: { token: Redacted.make("made up") } }))
      ])
      assert.deepStrictEqual(errors.map(({ _tag }) => _tag), [
        "Unauthorized",
        "Forbidden",
        "PreconditionRequired",
        "ValidationFailed"
      ])
      const impact = errors[2]._tag === "PreconditionRequired" ? errors[2].details?.["impact"] : undefined
      assert.deepInclude(impact, { action: "route.publish" })
    }))

  it.effect("signs in, stays signed in for as long as it calls, and signs out", () =>
    Effect.gen(function*() {
      const rider = yield* clientWith()
      const email = newEmail()
      const password = Redacted.make("correct horse of a client")
      yield* rider.auth.signUp({ payload: { email, password } })
      const token = Redacted.make(yield* (yield* Mailbox).tokenFor(email))
      yield* rider.auth.verifyEmail({ payload: { token } })
      for (const _ of [1, 2, 3]) {
        yield* TestClock.adjust("14 minutes")
        assert.strictEqual((yield* rider.users.me()).email, email)
      }
      yield* rider.auth.logOut()
      const refused = yield* Effect.flip(rider.users.me())
      assert.deepInclude(refused, {
        _tag: "Unauthorized",
        message: "Sign in first, or send Authorization: Bearer and a token"
      })
    }))

  it.effect("goes on from a session's JWT, and renews it", () =>
    Effect.gen(function*() {
      const { email, token } = yield* signedIn
      const rider = yield* clientWith({ token: Redacted.make(token) })
      yield* TestClock.adjust("14 minutes")
      yield* rider.users.me()
      yield* TestClock.adjust("14 minutes")
      assert.strictEqual((yield* rider.users.me()).email, email)
      yield* TestClock.adjust("16 minutes")
      assert.strictEqual((yield* Effect.flip(rider.users.me()))._tag, "Unauthorized")
    }))

  it.effect("stays in the account that it has signed in to, whatever a call of the one before brings", () =>
    Effect.gen(function*() {
      const [ada, bob] = [yield* signedIn, yield* signedIn]
      const rider = yield* clientWith({ token: Redacted.make(ada.token) })
      const { cursor } = yield* rider.sync.list({ query: { limit: 200 } })
      const poll = yield* Effect.forkChild(rider.sync.list({ query: { cursor, wait: 30 } }))
      yield* areWaiting(1)
      yield* rider.auth.logIn({ payload: { email: bob.email, password: Redacted.make(bob.password) } })
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(poll)
      assert.strictEqual((yield* rider.users.me()).email, bob.email)
    }))

  it.effect("runs as its example", () =>
    Effect.gen(function*() {
      const { origin } = yield* TestServer
      const { token } = yield* mint(yield* signedIn, "write")
      const env = { ...process.env, BASE_URL: origin, TOKEN: token }
      const { stdout } = yield* Effect.promise(() => promisify(execFile)(process.execPath, [EXAMPLE], { env }))
      assert.match(stdout, /^stored Around Vaduz as \d+\n$/)
    }))
})

/** Makes a client with what it sent and what came back, as it was on the wire. */
const watched = Effect.fnUntraced(function*(options: Options) {
  const { origin } = yield* TestServer
  const sent = yield* Ref.make(0)
  const statuses = yield* Ref.make<ReadonlyArray<number>>([])
  const http = HttpClient.transform(yield* HttpClient.HttpClient, (send) =>
    Ref.update(sent, (count) => count + 1).pipe(
      Effect.andThen(send),
      Effect.tap(({ status }) => Ref.update(statuses, (all) => [...all, status]))
    ))
  const client = yield* makeClient({ baseUrl: origin, ...options }).pipe(
    Effect.provideService(HttpClient.HttpClient, http)
  )
  return { sent, statuses, find: client.routes.listPublic({ query: {} }) }
}, Effect.provide(FetchHttpClient.layer))

const used = Effect.gen(function*() {
  const { find } = yield* watched({})
  yield* TestClock.adjust("1 minute")
  yield* Effect.forEach(Array.from({ length: RATE_TIERS.default }), () => find, { concurrency: 10, discard: true })
})

layer(TestServer.layer({ RATE_LIMITS_ENABLED: "true" }))("the typed client, when it is too fast", (it) => {
  it.effect("waits for as long as Retry-After says, and tries again", () =>
    Effect.gen(function*() {
      yield* used
      const { find, sent, statuses } = yield* watched({})
      const started = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const call = yield* Effect.forkChild(find)
      yield* until(Effect.map(Ref.get(statuses), (all) => all.length > 0))
      // The clock runs on while the client may not have gone to sleep yet, so a little more than a minute may pass.
      const isSentAgain = Effect.map(Ref.get(sent), (count) => count > 1)
      yield* until(Effect.andThen(TestClock.adjust("1 second"), isSentAgain))
      assert.deepStrictEqual(yield* Fiber.join(call), [])
      assert.deepStrictEqual(yield* Ref.get(statuses), [429, 200])
      assert.isAtLeast((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - started, 60_000)
    }))

  it.effect("returns the 429 when the wait exceeds the retry timeout, or retries are off", () =>
    Effect.gen(function*() {
      yield* used
      for (const options of [{ retryTimeout: "59 seconds" }, { retries: 0 }] as const) {
        const { find, statuses } = yield* watched(options)
        const refused = yield* Effect.flip(find)
        assert.deepInclude(refused, { _tag: "RateLimited", statusCode: 429 })
        assert.deepStrictEqual(yield* Ref.get(statuses), [429])
      }
    }))
})
