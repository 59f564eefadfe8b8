import { assert, describe, expectTypeOf, it, layer, vi } from "@effect/vitest"
import { Context, Effect, type FileSystem, Layer, Option, type Path, Ref } from "effect"
import type { SecureRandom } from "effect/crypto"
import { type Etag, HttpClient, HttpClientResponse, type HttpPlatform, type HttpServer } from "effect/http"
import type { RateLimiter } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { applicationLayer, backgroundLayer } from "../../src/layers/Application.ts"
import { databaseLive } from "../../src/layers/Database.ts"
import { inProcessServerLayer, printedErrorsLayer, WebHandler } from "../../src/layers/InProcessServer.ts"
import {
  httpServerLive,
  identityProviderLive,
  mailerLive,
  randomnessLive,
  rateCountersLive,
  routingEngineLive
} from "../../src/layers/Live.ts"
import { IdentityProvider } from "../../src/services/accounts/Provider.ts"
import type { CounterState } from "../../src/services/admission/RateLimits.ts"
import { Places } from "../../src/services/geometry/Places.ts"
import { Mailer } from "../../src/services/mail/Mailers.ts"
import { RoutingEngine } from "../../src/services/routing/Engine.ts"
import { anonymous, newEmail, signedIn } from "../support/Actors.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { Mailbox } from "../support/Mailbox.ts"
import { newRoute } from "../support/Routes.ts"
import { configLayer, nowhere, serverAt, socketServer, TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

/** Keeps what was asked of the stubs. */
class Asked extends Context.Service<Asked, Ref.Ref<ReadonlyArray<string>>>()("test/Asked") {
  static readonly layer = Layer.effect(Asked, Ref.make<ReadonlyArray<string>>([]))
}

const asking = (asked: Asked["Service"], what: string) => Ref.update(asked, (all) => [...all, what])

const TRIP = { trip: { legs: [{ shape: "_p~iF~ps|U", summary: { length: 1.5, time: 300 } }], summary: {} } }

const stubEngine = Layer.effect(
  RoutingEngine,
  Effect.map(Asked, (asked) =>
    RoutingEngine.of({
      call: (path, _json, read) => Effect.andThen(asking(asked, `engine ${path}`), read(JSON.stringify(TRIP))),
      status: Effect.succeed({ status: "away" }),
      mapDate: Effect.succeed(Option.none())
    }))
)

const stubProvider = Layer.effect(
  IdentityProvider,
  Effect.map(Asked, (asked) =>
    IdentityProvider.of({
      begin: () => Effect.die("no sign-in by redirect"),
      finish: () => Effect.die("no sign-in by redirect"),
      status: Effect.succeed([]),
      identify: () =>
        Effect.as(asking(asked, "provider identify"), {
          issuer: "https://stub.example",
          subject: "somebody",
          email: "somebody@example.com",
          name: "Somebody",
          picture: undefined
        })
    }))
)

const stubMailer = Layer.effect(
  Mailer,
  Effect.map(Asked, (asked) => Mailer.of({ send: ({ to }) => asking(asked, `mailer ${to}`) }))
)

const stubPlaces = Layer.effect(
  Places,
  Effect.map(
    Asked,
    (asked) =>
      Places.of({
        at: () => Effect.as(asking(asked, "places at"), { placeCity: "Stubville", placeCountryCode: "LI" }),
        hasCities: Effect.succeed(false)
      })
  )
)

/** The HTTP client sends nothing: it notes each request and responds with a trip. */
const stubClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(Asked, (asked) =>
    HttpClient.make((request, url) =>
      Effect.as(
        asking(asked, `${request.method} ${url.href}`),
        HttpClientResponse.fromWeb(request, Response.json(TRIP))
      )
    ))
)

/** Runs the application in this process instead of on a socket. */
const inProcess = Layer.effect(
  TestServer,
  Effect.map(
    WebHandler,
    ({ handle }) => serverAt("http://localhost:3000", (url, init) => handle(new Request(url, init)))
  )
)

/** The tests leave these as they are in production, and replace places. */
const live = Layer.mergeAll(databaseLive, randomnessLive, rateCountersLive)

const configured = <A, E, R>(build: Layer.Layer<A, E, R>, settings: Readonly<Record<string, string>> = {}) =>
  Layer.unwrap(Effect.map(clonedDatabase, (url) => Layer.provide(build, configLayer(url, settings))))

type Outside =
  | SqlClient.SqlClient
  | RoutingEngine
  | IdentityProvider
  | Places
  | SecureRandom.SecureRandom
  | RateLimiter.RateLimiterStore
  | CounterState
  | HttpServer.HttpServer
  | HttpPlatform.HttpPlatform
  | FileSystem.FileSystem
  | Path.Path
  | Etag.Generator

describe("the type of the application", () => {
  it("requires every outside dependency, and the background the mailer, places and randomness for mailed links", () => {
    expectTypeOf<Layer.Services<typeof applicationLayer>>().toEqualTypeOf<Outside>()
    expectTypeOf<Layer.Services<typeof backgroundLayer>>().toEqualTypeOf<
      SqlClient.SqlClient | Mailer | Places | SecureRandom.SecureRandom
    >()
  })

  it("requires of the live mailer, engine and identity provider an HTTP client", () => {
    expectTypeOf<Layer.Services<typeof mailerLive>>().toEqualTypeOf<HttpClient.HttpClient>()
    expectTypeOf<Layer.Services<typeof routingEngineLive>>().toEqualTypeOf<HttpClient.HttpClient>()
    expectTypeOf<Layer.Services<typeof identityProviderLive>>().toEqualTypeOf<HttpClient.HttpClient>()
  })

  it("keeps what is missing, so that it cannot run", () => {
    const withoutEngine = applicationLayer.pipe(
      Layer.provide(httpServerLive),
      Layer.provide([live, nowhere, Layer.mock(IdentityProvider, {})])
    )
    expectTypeOf<Layer.Services<typeof withoutEngine>>().toEqualTypeOf<RoutingEngine>()
  })
})

const stubbed = applicationLayer.pipe(
  Layer.provide(backgroundLayer),
  Layer.provide([stubEngine, stubProvider, stubMailer, stubPlaces]),
  Layer.provideMerge(Asked.layer),
  Layer.provideMerge(live)
)

const transports = [
  ["in process", inProcess.pipe(Layer.provideMerge(stubbed), Layer.provide(inProcessServerLayer))],
  ["over a socket", socketServer.pipe(Layer.provideMerge(stubbed), Layer.provide(httpServerLive))]
] as const

for (const [name, transport] of transports) {
  layer(configured(transport))(`the application ${name}, on stubs`, (it) => {
    const locations = [{ lat: 47.1, lon: 9.5 }, { lat: 47.2, lon: 9.6 }]

    it.effect("calls the engine, the identity provider, the mailer and the places that it was given", () =>
      Effect.gen(function*() {
        const asked = yield* Asked
        const visitor = yield* anonymous
        const routed = yield* visitor.post("/routing/route", { activity: "walk", locations, preferences: {} })
        assert.strictEqual(routed.status, 200, routed.text)
        const signedIn = yield* visitor.post("/auth/google", { idToken: "a token of the stub" })
        assert.strictEqual(signedIn.status, 200, signedIn.text)
        const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? ""
        const route = yield* visitor.post("/routes", newRoute({}), { headers: { cookie } })
        assert.deepInclude(route.body, { placeCity: "Stubville" })
        const email = newEmail()
        yield* visitor.post("/auth/signup-email", { email, password: "a long enough password" })
        yield* until(Effect.map(Ref.get(asked), (all) => all.includes(`mailer ${email}`)))
        assert.includeMembers([...yield* Ref.get(asked)], ["engine route", "provider identify", "places at"])
      }))

    it.effect("serves what it serves: errors in one shape, the contract, metrics for this machine", () =>
      Effect.gen(function*() {
        const visitor = yield* anonymous
        assert.deepInclude((yield* visitor.get("/nowhere")).body, { statusCode: 404, code: "NOT_FOUND" })
        assert.deepInclude((yield* visitor.get("/users/me")).body, { statusCode: 401, code: "UNAUTHORIZED" })
        assert.strictEqual((yield* visitor.get("//health/ready")).status, 200)
        assert.include((yield* visitor.get("//metrics")).text, "http_server_request_duration_seconds")
      }))
  })
}

const onStubClient = socketServer.pipe(
  Layer.provide(applicationLayer),
  Layer.provideMerge(httpServerLive),
  Layer.provide(backgroundLayer),
  Layer.provide([identityProviderLive, mailerLive, nowhere, routingEngineLive]),
  Layer.provide(stubClient),
  Layer.provideMerge(Asked.layer),
  Layer.provide(live)
)

layer(configured(onStubClient, {
  EMAIL_API_KEY: "key",
  EMAIL_FROM: "no-reply@example.com",
  EMAIL_API_URL: "https://mail.example/emails",
  GOOGLE_CLIENT_ID: "id",
  GOOGLE_CLIENT_SECRET: "secret",
  GOOGLE_ISSUER: "https://issuer.example",
  ROUTING_ENGINE_URL: "https://engine.example"
}))("the live engine, identity provider and mailer", (it) => {
  it.effect("call by the HTTP client that they are given", () =>
    Effect.gen(function*() {
      const asked = yield* Asked
      const visitor = yield* anonymous
      const locations = [{ lat: 47.1, lon: 9.5 }, { lat: 47.2, lon: 9.6 }]
      yield* visitor.post("/routing/route", { activity: "walk", locations, preferences: {} })
      yield* visitor.post("/auth/google", { code: "a code" })
      yield* visitor.post("/auth/signup-email", { email: newEmail(), password: "a long enough password" })
      yield* until(Effect.map(Ref.get(asked), (all) => all.includes("POST https://mail.example/emails")))
      assert.includeMembers([...yield* Ref.get(asked)], [
        "POST https://engine.example/route",
        "GET https://issuer.example/.well-known/openid-configuration"
      ])
    }))
})

const mailed = Effect.flatMap(Mailbox, ({ mails }) => mails)

const accounts = SqlClient.SqlClient.use((sql) => sql`SELECT 1 FROM users`)

const withoutBackground = inProcess.pipe(
  Layer.provide(applicationLayer),
  Layer.provide(inProcessServerLayer),
  Layer.provide([nowhere, Layer.mock(RoutingEngine, {}), Layer.mock(IdentityProvider, {})]),
  Layer.provideMerge(Mailbox.layer),
  Layer.provideMerge(live)
)

layer(configured(withoutBackground))("the application without its background", (it) => {
  it.effect("sends no mail and erases no account, until a test runs it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const visitor = yield* anonymous
      const email = newEmail()
      const password = "a long enough password"
      yield* visitor.post("/auth/signup-email", { email, password })
      // Without a mail there is no link by which the sign-up could become an account.
      yield* sql`
        INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
        SELECT email, email_key, created_at, password_hash, name, 'without-a-link', created_at, created_at FROM sign_ups`
      yield* visitor.post("/auth/signup-email", { email, password })
      yield* visitor.post("/auth/login-email", { email, password })
      yield* sql`UPDATE users SET deletion_requested_at = ${new Date(0)}`
      yield* TestClock.adjust("30 days")
      assert.strictEqual((yield* visitor.post("/auth/login-email", { email, password })).status, 401)
      assert.deepStrictEqual(yield* mailed, [])
      assert.strictEqual((yield* accounts).length, 1)
    }))
})

/** It stores no route, since it has no place for one. */
const mockedPlaces = Layer.mock(Places, { hasCities: Effect.succeed(false) })

layer(TestServer.layer({}, mockedPlaces).pipe(Layer.provide(printedErrorsLayer)))("a test with stubs", (it) => {
  it.effect("sees why a stub made a request fail, though it swallows the log", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const printed = yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(console, "log").mockImplementation(() => undefined)),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      assert.strictEqual((yield* rider.get("/routes")).status, 200)
      assert.lengthOf(printed.mock.calls, 0)
      assert.strictEqual((yield* rider.post("/routes", newRoute({}))).status, 500)
      const text = printed.mock.calls.flat().map(String).join("\n")
      assert.include(text, "request failed")
      assert.include(text, "Places")
    }))
})
