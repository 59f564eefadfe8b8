import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeClient } from "../src/client.ts"
import { applicationLayer, backgroundLayer } from "../src/layers/Application.ts"
import { databaseLive } from "../src/layers/Database.ts"
import { inProcessClientLayer, inProcessServerLayer, printedErrorsLayer } from "../src/layers/InProcessServer.ts"
import { randomnessLive, rateCountersLive } from "../src/layers/Live.ts"
import { IdentityProvider } from "../src/services/accounts/Provider.ts"
import { Places } from "../src/services/geometry/Places.ts"
import { type Mail, Mailer } from "../src/services/mail/Mailers.ts"
import { RoutingEngine } from "../src/services/routing/Engine.ts"
import { clonedDatabase } from "../test/support/Databases.ts"

it.effect("an account is erased 30 days after its owner deleted it", () =>
  Effect.gen(function*() {
    const mails = yield* Queue.unbounded<Mail>()
    const leg = { shape: "_izlhA~rlgdF_{geC~ywl@", summary: { length: 1.2, time: 900 } }
    const trip = { trip: { legs: [leg], summary: {} } }
    const stubs = Layer.mergeAll(
      Layer.succeed(Mailer, { send: (mail) => Queue.offer(mails, mail) }),
      // A mock fails when more is called than it has.
      Layer.mock(RoutingEngine, {
        call: (_path, _json, read) => read(JSON.stringify(trip)),
        mapDate: Effect.succeedNone
      }),
      Layer.mock(IdentityProvider, {}),
      // Take `placesLive` instead to store routes.
      Layer.mock(Places, { hasCities: Effect.succeed(false) })
    )
    // Any PostgreSQL does: an empty database is migrated at the start.
    const secrets = { JWT_SECRET: "a".repeat(32), ANALYTICS_SALT: "b".repeat(32), PAT_PEPPER: "c".repeat(32) }
    const settings = ConfigProvider.fromUnknown({ ...secrets, DATABASE_URL: yield* clonedDatabase })
    const service = Layer.merge(applicationLayer, inProcessClientLayer).pipe(
      Layer.provide(inProcessServerLayer), // or httpServerLive
      Layer.provide(backgroundLayer),
      Layer.provide([stubs, rateCountersLive, randomnessLive, printedErrorsLayer]),
      Layer.provideMerge(databaseLive),
      Layer.provide(ConfigProvider.layer(settings))
    )
    yield* Effect.gen(function*() {
      const rider = yield* makeClient({ baseUrl: "http://localhost:3000" })
      const password = Redacted.make("a long enough password")
      yield* rider.auth.signUp({ payload: { email: "rider@example.com", password } })
      const { link } = yield* Queue.take(mails)
      const token = new URL(Redacted.value(link ?? Redacted.make(""))).searchParams.get("token") ?? ""
      yield* rider.auth.verifyEmail({ payload: { token: Redacted.make(token) } })
      const locations = [{ lat: 47.1, lon: 9.5 }, { lat: 47.2, lon: 9.6 }]
      const route = yield* rider.routing.route({ query: {}, payload: { activity: "walk", locations, preferences: {} } })
      assert.deepStrictEqual(route.legs, [leg])
      yield* rider.users.requestDeletion()

      // A request or a sweep takes real time: move the clock when the response is there, then wait for what it brings.
      yield* TestClock.adjust("30 days")
      const sql = yield* SqlClient.SqlClient
      yield* Effect.repeat(sql`SELECT id FROM users`, { until: (users) => users.length === 0 })
    }).pipe(Effect.provide(service))
  }))
