import polyline from "@mapbox/polyline"
import { Cache, Context, Duration, Effect, Exit, Layer, Option, Ref, Schema } from "effect"
import { NotFound } from "../../schema/Errors.ts"
import {
  isOnEarth,
  POLYLINE_PRECISION,
  type RoutingAnswer,
  RoutingRequest,
  type Warning
} from "../../schema/Routing.ts"
import { costingOf, SURFACES } from "./EngineOptions.ts"
import { type EngineFailure, isNotFound, NO_ROAD, unusable } from "./EngineRefusals.ts"
import { type Ways, waysUnder } from "./RouteWays.ts"
import { RoutingEngine } from "./RoutingEngine.ts"

/** People drag a waypoint back and forth; roads do not change meanwhile. */
const KEPT_FOR = Duration.minutes(5)
const MAX_KEPT = 1000

/**
 * How far from a location a road may be, where the engine would take one 35 km away: who means the middle of a lake is
 * told so, and who misses a path in a park or on a mountain by ten minutes' walk is not.
 */
const MAX_SNAP_METRES = 1000

/** A refusal without an index is better than none. */
const LOCATE_PATIENCE = "1 second"

/** A computed route, and whether it was computed for this caller. */
export interface Computed {
  readonly answer: RoutingAnswer
  readonly isCached: boolean
}

/** Routes between locations, by the routing engine. */
export class Routing extends Context.Service<Routing, {
  /** The same request is computed once, for whoever asks meanwhile and for five minutes, as long as the map stays. */
  readonly route: (request: RoutingRequest) => Effect.Effect<Computed, EngineFailure>
}>()("route-planning-service/Routing") {
  static readonly layer = Layer.effect(
    Routing,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine

      /** The engine does not say which locations it means: its search, asked the same, does. */
      const noRoadNear = Effect.fnUntraced(function*(json: string) {
        const found = yield* engine.call("locate", json).pipe(
          Effect.flatMap(decodeLocated),
          Effect.timeout(LOCATE_PATIENCE),
          Effect.orElseSucceed(() => [])
        )
        const locations = found.flatMap(({ edges }, index) => edges === null || edges.length === 0 ? [index] : [])
        const names = locations.length === 0 ? "a location" : locations.map((index) => `locations.${index}`).join(", ")
        return yield* new NotFound({
          message: `There is no road within ${MAX_SNAP_METRES} m of ${names}`,
          details: { reason: NO_ROAD, ...(locations.length === 0 ? {} : { locations }) }
        })
      })

      /** The route itself says nothing of surfaces: where they matter, or big roads, the engine is asked what is under it. */
      const waysOf = ({ legs }: Trip, { activity, preferences, walkingSpeedKmh }: RoutingRequest) =>
        preferences.surfacePreference === "paved" || preferences.avoidHighways === true
          ? waysUnder(engine, legs.map(({ shape }) => shape), costingOf(activity, preferences, walkingSpeedKmh))
          : Effect.succeed(NO_WAYS)

      const compute = Effect.fnUntraced(function*(request: RoutingRequest) {
        const json = engineRequest(request)
        const body = yield* engine.call("route", json).pipe(Effect.catchIf(isNotFound(NO_ROAD), () => noRoadNear(json)))
        const { trip } = yield* Effect.mapError(decodeTrip(body), () => unusable)
        const snapped = snappedOf(trip)
        if (snapped.length !== request.locations.length) return yield* unusable
        const warnings = warningsOf(trip, yield* waysOf(trip, request), request)
        return { legs: trip.legs, locations: snapped, warnings }
      })

      const answers = yield* Cache.makeWith((key: string) => Effect.flatMap(requestOf(key), compute), {
        capacity: MAX_KEPT,
        timeToLive: (exit) => Exit.isSuccess(exit) ? KEPT_FOR : Duration.zero
      })

      const map = yield* Ref.make(Option.none<number>())

      const forgetOldMap = Effect.gen(function*() {
        const date = yield* engine.mapDate
        const before = yield* Ref.getAndSet(map, date)
        if (Option.isSome(before) && Option.getOrNull(date) !== before.value) yield* Cache.invalidateAll(answers)
      })

      return Routing.of({
        route: Effect.fn("Routing.route")(function*(request) {
          yield* forgetOldMap
          const key = yield* keyOf(request)
          const isCached = yield* Cache.has(answers, key)
          return { answer: yield* Cache.get(answers, key), isCached }
        })
      })
    })
  )
}

/** A request is known by its text: the hash of a structure is unseeded, and clients could make many that collide. */
const RequestText = Schema.fromJsonString(RoutingRequest)

const keyOf = (request: RoutingRequest) => Effect.orDie(Schema.encodeEffect(RequestText)(request))

const requestOf = (key: string) => Effect.orDie(Schema.decodeEffect(RequestText)(key))

const NO_WAYS: Ways = { hasUnpaved: false, hasHighway: false }

/** What the engine is asked: nothing of the client's but the places. */
const engineRequest = ({ activity, locations, preferences, walkingSpeedKmh }: RoutingRequest) =>
  JSON.stringify({
    locations: locations.map(({ lat, lon }) => ({ lat, lon, search_cutoff: MAX_SNAP_METRES })),
    ...costingOf(activity, preferences, walkingSpeedKmh),
    units: "kilometers",
    directions_type: "none"
  })

/** An older engine says null for none. */
const Located = Schema.Array(Schema.Struct({ edges: Schema.NullOr(Schema.Array(Schema.Unknown)) }))

const decodeLocated = Schema.decodeUnknownEffect(Located)

const Trip = Schema.Struct({
  trip: Schema.Struct({
    legs: Schema.NonEmptyArray(Schema.Struct({
      shape: Schema.String,
      summary: Schema.Struct({ length: Schema.Finite, time: Schema.Finite })
    })),
    summary: Schema.Struct({
      has_ferry: Schema.optionalKey(Schema.Boolean),
      has_highway: Schema.optionalKey(Schema.Boolean)
    })
  })
})
type Trip = typeof Trip.Type["trip"]

const decodeTrip = Schema.decodeUnknownEffect(Trip)

/**
 * The engine gives back the locations that it was asked for; where it found roads is at the ends of the legs. What is not
 * on earth is left out.
 */
const snappedOf = ({ legs }: Trip) => {
  const lines = legs.map(({ shape }) => polyline.decode(shape, POLYLINE_PRECISION))
  return [lines[0]?.[0], ...lines.map((line) => line.at(-1))]
    .filter((point) => point !== undefined)
    .filter(isOnEarth)
    .map(([lat, lon], original_index) => ({ lat, lon, original_index }))
}

/** Penalties do not forbid: what could not be avoided is said. */
const warningsOf = (
  { summary }: Trip,
  { hasHighway, hasUnpaved }: Ways,
  { preferences }: RoutingRequest
): ReadonlyArray<Warning> => [
  ...(preferences.avoidFerries === true && summary.has_ferry === true
    ? [{ code: "ferry_used", message: "The route takes a ferry" } as const]
    : []),
  ...(preferences.avoidHighways === true && (hasHighway || summary.has_highway === true)
    ? [{ code: "highway_used", message: "The route takes a highway" } as const]
    : []),
  ...(preferences.surfacePreference === "paved" && hasUnpaved
    ? [{ code: "unpaved_used", message: "Parts of the route are not paved" } as const]
    : []),
  ...unknownSurface(preferences)
]

const unknownSurface = ({ surfacePreference = "any" }: RoutingRequest["preferences"]): ReadonlyArray<Warning> =>
  SURFACES.includes(surfacePreference) ? [] : [{
    code: "preference_unknown",
    message: `surfacePreference "${surfacePreference}" is unknown and was ignored: expected one of ${
      SURFACES.join(", ")
    }`
  }]
