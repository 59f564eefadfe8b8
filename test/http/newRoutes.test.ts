import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { signedIn } from "../support/Actors.ts"
import { untilLocked, whileLocked } from "../support/Locks.ts"
import { created, idOf, newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { served } from "../support/Waiting.ts"

const line = (positions: number) =>
  Array.from({ length: positions }, (_, n) => [9 + n / 1e5, 47 + n / 1e6, 400 + n / 10])

const full = {
  description: "Flat,\nthen not. ¼",
  activity: "run",
  visibility: "unlisted",
  tags: ["gravel", "long ride"],
  favourite: true,
  geometry: line(30),
  duration: 3600.5,
  startAddress: "Städtle 1",
  endAddress: "",
  routingPreferences: { surfacePreference: "paved", avoidFerries: true, avoidHighways: false },
  provenance: "gpx-import"
}

const SHAPES: ReadonlyArray<Readonly<Record<string, unknown>>> = [
  {},
  full,
  { geometry: line(2), elevationGain: 1e-7, distance: 0.1 + 0.2 },
  { tags: null, description: null, routingPreferences: null, geometry: null },
  { geometry: line(300), visibility: "unlisted" }
]

layer(TestServer.layer({}))("routes of one account that are stored together", (it) => {
  it.effect("are all stored, and each response is what a read returns", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const responses = yield* Effect.forEach(
        Array.from({ length: 30 }, (_, n) => newRoute({ ...SHAPES[n % SHAPES.length], name: `Ride ${n}` })),
        (route) => served(rider.post("/routes", route)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(responses.map(({ status }) => status), Array.from(responses, () => 201))
      yield* Effect.forEach(responses, (response, n) =>
        Effect.gen(function*() {
          const { body, headers } = yield* rider.get(`/routes/${idOf(response.body)}`)
          assert.strictEqual(created(response.body)["name"], `Ride ${n}`)
          assert.deepStrictEqual(response.body, body)
          assert.strictEqual(response.headers.get("etag"), headers.get("etag"))
        }), { concurrency: 4 })
    }))

  it.effect("do not wait for a long one", () =>
    Effect.gen(function*() {
      const rider = yield* signedIn
      const stored = (positions: number) =>
        Effect.forkChild(rider.post("/routes", newRoute({ geometry: line(positions) })))
      const calls = yield* whileLocked(
        (sql) => sql`SELECT FROM route_usage WHERE user_id = ${rider.id} FOR UPDATE`,
        Effect.gen(function*() {
          const long = yield* stored(20_000)
          yield* untilLocked(1)
          const short = yield* stored(2)
          yield* untilLocked(2)
          return [long, short]
        })
      )
      const responses = yield* Effect.forEach(calls, Fiber.join)
      assert.deepStrictEqual(responses.map(({ status }) => status), [201, 201])
    }))
})
