import { assert, describe, it } from "@effect/vitest"
import polyline from "@mapbox/polyline"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { RoutingRequest } from "../../src/schema/Routing.ts"
import { measurePositions } from "../../src/services/geometry/MeasuredPolyline.ts"
import { RoutingEngine } from "../../src/services/routing/Engine.ts"
import { Elevations, Routing, TraceMatching } from "../../src/services/routing/Routing.ts"
import { directWork } from "../support/DirectWork.ts"

interface Stub {
  /** Each job has the number of bytes that its work counts as. */
  readonly jobs: Array<readonly [name: string, bytes: number]>
  readonly calls: Array<string>
  most: number
  respond: (path: string, json: string) => Effect.Effect<string>
  mapDate: Option.Option<number>
}

const newStub = (respond: Stub["respond"] = () => Effect.never): Stub => ({
  jobs: [],
  calls: [],
  most: 0,
  respond,
  mapDate: Option.none()
})

const stubs = (stub: Stub) => {
  const running = { count: 0 }
  return Layer.mergeAll(
    directWork(({ bytes, name }) => stub.jobs.push([name, bytes])),
    Layer.succeed(
      RoutingEngine,
      RoutingEngine.of({
        call: (path, json, read) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              stub.calls.push(path)
              stub.most = Math.max(stub.most, ++running.count)
            }),
            () => Effect.flatMap(Effect.andThen(Effect.yieldNow, Effect.suspend(() => stub.respond(path, json))), read),
            () => Effect.sync(() => running.count -= 1)
          ),
        status: Effect.never,
        mapDate: Effect.sync(() => stub.mapDate)
      })
    )
  )
}

const matching = (stub: Stub) => TraceMatching.layer.pipe(Layer.provide(stubs(stub)))

const MATCH = JSON.stringify({ shape: polyline.encode([[0, 0], [0, 1]], 6), edges: [], matched_points: [] })

describe("a trace", () => {
  it.effect("of up to 2,000 kilometres is matched, two of its pieces at a time", () => {
    const stub = newStub(() => Effect.succeed(MATCH))
    return Effect.gen(function*() {
      const { match } = yield* TraceMatching
      const trace = { member: "shape", metres: 2_000_000, pieces: ["[1]", "[2]", "[3]", "[4]"] } as const
      yield* match({ activity: "walk" }, trace)
      assert.deepStrictEqual([stub.calls.length, stub.most], [4, 2])
      assert.deepStrictEqual(stub.jobs.at(-1), ["join matches", 4 * MATCH.length])
      const tooLong = yield* Effect.flip(match({ activity: "walk" }, { ...trace, metres: 2_000_000.1 }))
      assert.deepInclude(tooLong, { _tag: "TraceTooLong", member: "shape", metres: 2_000_000 })
    }).pipe(Effect.provide(matching(stub)))
  })

  it.effect("waits ten seconds for its turn while others are matched, two pieces of all traces at a time", () => {
    const stub = newStub(() => Effect.succeed(MATCH))
    return Effect.gen(function*() {
      const { match } = yield* TraceMatching
      const trace = { member: "shape", metres: 1, pieces: ["[1]", "[2]", "[3]", "[4]"] } as const
      const matched = match({ activity: "walk" }, trace)
      yield* Effect.all([matched, matched], { concurrency: "unbounded" })
      assert.deepStrictEqual([stub.calls.length, stub.most], [8, 2])
      stub.respond = () => Effect.never
      yield* Effect.forkChild(matched)
      const late = yield* Effect.forkChild(Effect.flip(Effect.andThen(Effect.yieldNow, matched)))
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude(yield* Fiber.join(late), { _tag: "Overloaded", reason: "traces", retryAfterSeconds: 10 })
    }).pipe(Effect.provide(matching(stub)))
  })

  it.effect("that is a polyline counts as 16 bytes a point, and is given up after 28 seconds", () => {
    const stub = newStub()
    return Effect.gen(function*() {
      const { match } = yield* TraceMatching
      const encodedPolyline = "??".repeat(1000)
      const matched = yield* Effect.forkChild(Effect.flip(match({ activity: "walk", encodedPolyline }, undefined)))
      yield* TestClock.adjust("27999 millis")
      assert.isUndefined(matched.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* Fiber.join(matched), { _tag: "UpstreamSlow" })
      assert.deepStrictEqual(stub.jobs[0], ["measure trace", 16_000])
    }).pipe(Effect.provide(matching(stub)))
  })
})

interface StubLeg {
  readonly shape: string
  readonly instruction?: string
  readonly length?: number
}

const tripOf = (...legs: ReadonlyArray<StubLeg>) =>
  JSON.stringify({
    trip: {
      legs: legs.map(({ instruction, length = 1, shape }) => ({
        shape,
        summary: { length, time: 1 },
        maneuvers: instruction === undefined ? [] : [{ instruction, type: 1, begin_shape_index: 0, length: 1, time: 1 }]
      })),
      summary: {}
    }
  })

const requestOf = (lat: number, members: Partial<RoutingRequest> = {}): RoutingRequest => ({
  activity: "walk",
  preferences: {},
  locations: [{ lat, lon: 1 }, { lat: 2, lon: 2 }, { lat: 3, lon: 3 }],
  ...members
})

/** Two characters are a position. */
const shapeOf = (characters: number) => "??".repeat(characters / 2)

describe("a computed route", () => {
  const cached = (request: RoutingRequest) =>
    Routing.use(({ route }) => Effect.map(route(request), ({ isCached }) => isCached))

  it.effect("is kept for five minutes, unless the map is another one", () => {
    const short = { shape: shapeOf(4) }
    const stub = newStub(() => Effect.succeed(tripOf(short, short)))
    return Effect.gen(function*() {
      assert.deepStrictEqual([yield* cached(requestOf(1)), yield* cached(requestOf(1))], [false, true])
      yield* TestClock.adjust("299999 millis")
      assert.isTrue(yield* cached(requestOf(1)))
      yield* TestClock.adjust("1 millis")
      assert.isFalse(yield* cached(requestOf(1)))
      const dates = [1, 1, 2, 2, undefined, 2]
      const found = yield* Effect.forEach(dates, (date) => {
        stub.mapDate = Option.fromUndefinedOr(date)
        return cached(requestOf(1))
      })
      assert.deepStrictEqual(found, [true, true, false, true, false, true])
    }).pipe(Effect.provide(Routing.layer.pipe(Layer.provide(stubs(stub)))))
  })

  it.effect("is kept with up to 131,072 characters of its lines and directions, 100 for each beside its text", () => {
    let trip = ""
    const stub = newStub(() => Effect.succeed(trip))
    return Effect.gen(function*() {
      const isKept = Effect.fnUntraced(function*(lat: number, response: string, members: Partial<RoutingRequest> = {}) {
        trip = response
        yield* cached(requestOf(lat, members))
        return yield* cached(requestOf(lat, members))
      })
      const [half, odd] = [shapeOf(65_536), `${shapeOf(65_534)}_@?`]
      assert.isTrue(yield* isKept(1, tripOf({ shape: half }, { shape: half })))
      assert.isFalse(yield* isKept(2, tripOf({ shape: half }, { shape: odd })))
      const directed = (characters: number) => {
        const leg = (shape: string) => ({ shape, instruction: "Turn." })
        return tripOf(leg(half), leg(shapeOf(characters)))
      }
      assert.isTrue(yield* isKept(3, directed(65_536 - 210), { directions: true }))
      assert.isFalse(yield* isKept(4, directed(65_536 - 208), { directions: true }))
      const [route, directions] = ["route", "directions"]
      assert.deepStrictEqual(stub.calls, [route, route, route, directions, directions, directions])
    }).pipe(Effect.provide(Routing.layer.pipe(Layer.provide(stubs(stub)))))
  })

  it.effect("has two of its legs searched for surfaces at a time, which end after a second", () => {
    const stub = newStub((path) =>
      Effect.succeed(
        path === "route"
          ? tripOf(...Array.from({ length: 4 }, () => ({ shape: shapeOf(4) })))
          : JSON.stringify({ edges: [{ surface: "dirt", length: 1 }] })
      )
    )
    const location = { lat: 1, lon: 1 }
    const request = requestOf(1, { locations: [location, location, location, location, location], surfaces: true })
    return Effect.gen(function*() {
      const { route } = yield* Routing
      assert.deepStrictEqual((yield* route(request)).response.surfaces, [{ surface: "dirt", length: 4, share: 1 }])
      assert.strictEqual(stub.most, 2)
      const { respond } = stub
      stub.respond = (path, json) => path === "route" ? respond(path, json) : Effect.never
      const hanging = yield* Effect.forkChild(route({ ...request, activity: "run" }))
      yield* TestClock.adjust("1 second")
      assert.notProperty((yield* Fiber.join(hanging)).response, "surfaces")
      stub.respond = respond
      const again = yield* route({ ...request, activity: "run" })
      assert.isFalse(again.isCached)
      assert.property(again.response, "surfaces")
    }).pipe(Effect.provide(Routing.layer.pipe(Layer.provide(stubs(stub)))))
  })

  it.effect("has no leg without a length searched for surfaces, since the engine refuses it", () => {
    const shape = shapeOf(4)
    const stub = newStub((path) =>
      Effect.succeed(
        path === "route" ? tripOf({ shape, length: 0 }, { shape }) : JSON.stringify({ edges: [{ length: 1 }] })
      )
    )
    return Effect.gen(function*() {
      const { response } = yield* Routing.use(({ route }) => route(requestOf(1, { surfaces: true })))
      assert.deepStrictEqual(stub.calls, ["route", "trace_attributes"])
      assert.deepStrictEqual(response.surfaces, [{ surface: "unknown", length: 1, share: 1 }])
    }).pipe(Effect.provide(Routing.layer.pipe(Layer.provide(stubs(stub)))))
  })
})

it.effect("elevations are read in two calls at a time, and filling them counts twice the length of the line", () => {
  const stub = newStub((_, json) => {
    const { encoded_polyline } = JSON.parse(json)
    return Effect.succeed(JSON.stringify({ height: polyline.decode(encoded_polyline, 6).map(() => 5) }))
  })
  return Effect.gen(function*() {
    const line = measurePositions(Array.from({ length: 60_001 }, (_, n) => [n / 1e6, 1] as const))
    const { filled, missing } = yield* Elevations.use(({ fill }) => fill(line))
    assert.deepStrictEqual([filled, missing, stub.calls.length, stub.most], [60_001, 0, 4, 2])
    const [first, last] = [stub.jobs[0], stub.jobs.at(-1)]
    assert.deepStrictEqual([first, last], [
      ["read positions without elevation", line.json.length],
      ["fill elevations", 2 * line.json.length]
    ])
  }).pipe(Effect.provide(Elevations.layer.pipe(Layer.provide(stubs(stub)))))
})
