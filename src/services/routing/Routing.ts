import { Cache, Context, Duration, Effect, Exit, Layer, Option, Ref, Schema } from "effect"
import { MAX_SNAP_METRES } from "../../schema/Limits.ts"
import { localeOf } from "../../schema/Maneuver.ts"
import { type RoutingAnswer, RoutingRequest, type Warning } from "../../schema/Routing.ts"
import { NoRoad } from "../DomainErrors.ts"
import { HeavyWork } from "../heavy/HeavyWork.ts"
import { traced } from "../tracing/Traced.ts"
import { costingOf, SURFACES } from "./EngineOptions.ts"
import { type EngineFailure, unusable } from "./EngineRefusals.ts"
import { readBy } from "./EngineResponses.ts"
import { waysAlong } from "./RouteWays.ts"
import { RoutingEngine } from "./RoutingEngine.ts"
import { readRoadless, readTrip, type Trip, type Ways } from "./TripJobs.ts"

const KEPT_FOR = Duration.minutes(5)
const MAX_KEPT = 1000

/** Longer routes are not cached, so that the cache has at most 128 MiB. */
const MAX_KEPT_CHARACTERS = 131_072

const LOCATE_TIMEOUT = "1 second"

export interface Computed {
  readonly response: RoutingAnswer
  readonly isCached: boolean
}

export class Routing extends Context.Service<Routing, {
  /** Cached for five minutes, as long as the map stays; concurrent requests share one computation. */
  readonly route: (request: RoutingRequest) => Effect.Effect<Computed, EngineFailure>
}>()("route-planning-service/Routing") {
  static readonly layer = Layer.effect(
    Routing,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine
      const heavy = yield* HeavyWork

      /** The engine's error names no locations; `locate` finds them. */
      const noRoadNear = Effect.fnUntraced(function*(json: string) {
        const locations = yield* engine.call("locate", json, readBy(heavy, readRoadless)).pipe(
          Effect.timeout(LOCATE_TIMEOUT),
          Effect.orElseSucceed((): ReadonlyArray<number> => [])
        )
        return yield* new NoRoad({ near: { metres: MAX_SNAP_METRES, locations } })
      })

      /** Asks for surfaces and road classes where a preference needs them: a route has neither. */
      const waysOf = ({ legs }: Trip, { activity, preferences, walkingSpeedKmh }: RoutingRequest) =>
        preferences.surfacePreference === "paved" || preferences.avoidHighways === true
          ? waysAlong(engine, heavy, legs.map(({ shape }) => shape), costingOf(activity, preferences, walkingSpeedKmh))
          : Effect.succeed(NO_WAYS)

      const compute = Effect.fnUntraced(function*(request: RoutingRequest) {
        const json = engineRequest(request)
        const trip = yield* engine.call(
          request.directions === true ? "directions" : "route",
          json,
          readBy(heavy, readTrip)
        ).pipe(
          Effect.catchTag("NoRoad", () => noRoadNear(json))
        )
        const { legs, locations, maneuvers } = trip
        if (locations.length !== request.locations.length) return yield* unusable()
        return {
          legs,
          locations,
          ...(request.directions === true ? { maneuvers } : {}),
          warnings: warningsOf(trip, yield* waysOf(trip, request), request)
        }
      })

      const responses = yield* Cache.makeWith((key: string) => Effect.flatMap(requestOf(key), compute), {
        capacity: MAX_KEPT,
        timeToLive: (exit) => Exit.isSuccess(exit) && isShort(exit.value) ? KEPT_FOR : Duration.zero
      })

      const map = yield* Ref.make(Option.none<number>())

      const forgetOldMap = Effect.gen(function*() {
        const date = yield* engine.mapDate
        const before = yield* Ref.getAndSet(map, date)
        if (Option.isSome(before) && Option.getOrNull(date) !== before.value) yield* Cache.invalidateAll(responses)
      })

      return Routing.of({
        route: traced("Routing.route")(function*(request) {
          yield* forgetOldMap
          const key = yield* keyOf(request)
          const isCached = yield* Cache.has(responses, key)
          return { response: yield* Cache.get(responses, key), isCached }
        })
      })
    })
  )
}

/** Cache keys are texts: the hash of a structure is unseeded, and clients could send many that collide. */
const RequestText = Schema.fromJsonString(RoutingRequest)

const keyOf = (request: RoutingRequest) => Effect.orDie(Schema.encodeEffect(RequestText)(request))

const requestOf = (key: string) => Effect.orDie(Schema.decodeEffect(RequestText)(key))

/** The other members of a maneuver, as text. */
const MANEUVER_CHARACTERS = 100

const isShort = ({ legs, maneuvers = [] }: RoutingAnswer) =>
  legs.reduce((sum, { shape }) => sum + shape.length, 0)
      + maneuvers.reduce((sum, { instruction }) => sum + MANEUVER_CHARACTERS + instruction.length, 0)
    <= MAX_KEPT_CHARACTERS

const NO_WAYS: Ways = { hasUnpaved: false, hasHighway: false }

const directionsOf = ({ directions, language = "en-US" }: RoutingRequest) =>
  directions === true
    ? { directions_type: "instructions", language: localeOf(language) }
    : { directions_type: "none" }

const engineRequest = (request: RoutingRequest) =>
  JSON.stringify({
    locations: request.locations.map(({ lat, lon }) => ({ lat, lon, search_cutoff: MAX_SNAP_METRES })),
    ...costingOf(request.activity, request.preferences, request.walkingSpeedKmh),
    units: "kilometers",
    ...directionsOf(request)
  })

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
    message: `surfacePreference "${surfacePreference}" is unknown and was ignored: Expected one of ${
      SURFACES.join(", ")
    }`
  }]
