import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { abortedInCommit } from "../support/Aborts.ts"
import { type Actor, anonymous, type Rider, signedIn } from "../support/Actors.ts"
import { archiveOf } from "../support/Archives.ts"
import { created, idsIn, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint, withToken } from "../support/Tokens.ts"
import { until } from "../support/Waiting.ts"
import { beside, ray, setZones } from "../support/Zones.ts"

const HOME = [9.5, 47.1] as const

const WORK = [9.6, 47.2] as const

const ZONES = [{ center: HOME, radius: 500, label: "Home" }, { center: WORK, radius: 300 }]

const put = (actor: Actor, zones: unknown, confirm?: string) =>
  actor.call("PUT", "/users/me/privacy-zones", {
    body: { zones },
    headers: confirm === undefined ? {} : { "x-service-confirm": confirm }
  })

const zonesOf = (rider: Rider) => Effect.map(rider.get("/users/me/privacy-zones"), ({ body }) => body)

const impactIn = (body: unknown) =>
  Schema.decodeUnknownSync(
    Schema.Struct({
      code: Schema.String,
      details: Schema.Struct({ impact: Schema.Struct({ action: Schema.String, summary: Schema.String }) })
    })
  )(body)

layer(TestServer.layer())("changes of privacy zones", (it) => {
  it.effect("that hide less are confirmed by a token, and nothing is changed before", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const token = yield* withToken((yield* mint(rider, "write")).token)
      yield* setZones(rider, ZONES)
      const [home, work] = ZONES
      const less = {
        "none are left": [],
        "one is gone": [home],
        "one is smaller": [{ ...home, radius: 499 }, work],
        "one is elsewhere": [home, { center: beside(WORK, 1000, 0), radius: 300 }],
        "one is some metres beside": [home, { center: beside(WORK, 20, 0), radius: 310 }]
      }
      for (const [name, zones] of Object.entries(less)) {
        for (const confirm of [undefined, "TRUE"]) {
          const { body, status } = yield* put(token, zones, confirm)
          assert.strictEqual(status, 428, name)
          const { code, details: { impact } } = impactIn(body)
          assert.deepStrictEqual([code, impact.action], ["PRECONDITION_REQUIRED", "privacy_zones.shrink"])
          assert.include(impact.summary, name === "none are left" ? "2 privacy zones" : "a privacy zone of yours hides")
        }
        assert.deepStrictEqual(yield* zonesOf(rider), { zones: ZONES }, name)
      }
      for (const zones of Object.values(less)) {
        assert.strictEqual((yield* put(token, zones, "true")).status, 200)
        assert.deepStrictEqual(yield* zonesOf(rider), { zones })
        yield* setZones(rider, ZONES)
        assert.strictEqual((yield* put(rider, zones)).status, 200)
        yield* setZones(rider, ZONES)
      }
    }))

  it.effect("that hide as much or more need no confirmation", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const token = yield* withToken((yield* mint(rider, "write")).token)
      const [home, work] = ZONES
      const more = [
        ZONES,
        [work, { ...home, label: "Elsewhere" }],
        [work, { ...home, radius: 700 }, { center: [8, 47], radius: 100 }],
        [work, { center: beside(HOME, 20, 0), radius: 730 }, { center: [8, 47], radius: 100 }]
      ]
      for (const zones of more) assert.strictEqual((yield* put(token, zones)).status, 200)
      assert.deepStrictEqual(yield* zonesOf(rider), { zones: more.at(-1) })
    }))

  it.effect("are refused for their form and for the token's scope before they have to be confirmed", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      yield* setZones(rider, ZONES)
      const write = yield* withToken((yield* mint(rider, "write")).token)
      const read = yield* withToken((yield* mint(rider, "read")).token)
      assert.strictEqual((yield* put(write, [{ center: HOME, radius: 1 }])).status, 400)
      assert.strictEqual((yield* put(read, [])).status, 403)
    }))

  it.effect("reach searches within five seconds, while a route is edited again and again", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const visitor = yield* anonymous
      const publish = Effect.map(
        rider.post(
          "/routes",
          newRoute({ name: "Hagebuttenrunde", visibility: "public", geometry: ray(HOME, 1, 6000) })
        ),
        ({ body }) => created(body).id
      )
      const [edited, ...others] = yield* Effect.forEach(Array.from({ length: 4 }), () => publish)
      const found = Effect.map(
        visitor.get("/routes/public?gate=public&q=hagebuttenrunde&geometry=none"),
        ({ body }) => idsIn(body).toSorted((one, other) => one - other)
      )
      yield* setZones(rider, ZONES)
      for (const minute of [1, 2, 3, 4, 5, 6, 7]) {
        yield* rider.patch(`/routes/${edited}`, { description: `After ${minute} minutes` })
        yield* TestClock.adjust("0.7 seconds")
      }
      yield* until(Effect.map(found, (ids) => others.every((id) => ids.includes(id))))
      yield* TestClock.adjust("1 second")
      yield* until(Effect.map(found, (ids) => ids.length === 4))
    }))
})

const publicRoute = (name: string, direction = 1) =>
  newRoute({ name, visibility: "public", geometry: ray(HOME, direction, 6000) })

interface Change {
  readonly found: number
  readonly table: string
  readonly method?: "PUT"
  readonly path: (route: number) => string
  readonly body?: (name: string) => Effect.Effect<string | Uint8Array<ArrayBuffer>, never, Environment>
  readonly before?: (rider: Rider, route: number) => Effect.Effect<unknown>
}

type Environment = Effect.Services<typeof signedIn>

/** Before these changes an account with zones has one public route; after them `found` such routes are found. */
const CHANGES: Readonly<Record<string, Change>> = {
  "other zones": {
    found: 1,
    table: "privacy_zones",
    method: "PUT",
    path: () => "/users/me/privacy-zones",
    body: () => Effect.succeed(JSON.stringify({ zones: [{ center: HOME, radius: 700 }] }))
  },
  "a new share token": { found: 1, table: "routes", path: (route) => `/routes/${route}/share-token` },
  "a route from the trash": {
    found: 1,
    table: "routes",
    path: (route) => `/routes/${route}/restore`,
    before: (rider, route) => rider.delete(`/routes/${route}`)
  },
  "a new route": {
    found: 2,
    table: "routes",
    path: () => "/routes",
    body: (name) => Effect.succeed(JSON.stringify(publicRoute(name)))
  },
  "the routes of an archive": {
    // The other account has one of them.
    found: 3,
    table: "routes",
    path: () => "/users/me/import",
    body: Effect.fnUntraced(function*(name) {
      const other = yield* signedIn
      yield* other.post("/routes", publicRoute(name, 2))
      return Uint8Array.from(yield* archiveOf(other))
    })
  }
}

layer(TestServer.layer())("what others see of an account with privacy zones", (it) => {
  for (
    const [index, [title, { before, body, found, method = "POST", path, table }]] of Object.entries(CHANGES).entries()
  ) {
    it.effect(`is up to date after ${title}, although the client hangs up while that is stored`, () =>
      Effect.gen(function*() {
        const rider = yield* signedIn
        const visitor = yield* anonymous
        const name = `Strauchrunde${index}`
        const finds = (count: number) =>
          until(Effect.andThen(
            TestClock.adjust("1 second"),
            Effect.map(
              visitor.get(`/routes/public?gate=public&q=${name}&geometry=none`),
              ({ body }) => idsIn(body).length === count
            )
          ))
        yield* setZones(rider, ZONES)
        const route = created((yield* rider.post("/routes", publicRoute(name))).body).id
        yield* finds(1)
        yield* before?.(rider, route) ?? Effect.void
        const sent = yield* body?.(name) ?? Effect.succeed(null)
        yield* abortedInCommit(table, path(route), {
          method,
          headers: {
            cookie: rider.cookie,
            "content-type": typeof sent === "string" ? "application/json" : "application/zip"
          },
          body: sent
        })
        yield* finds(found)
      }))
  }
})
