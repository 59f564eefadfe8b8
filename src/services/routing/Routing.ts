import { Cache, Context, Duration, Effect, Exit, Layer, Option, Ref, Schema } from "effect"
import { NotFound } from "../../schema/Errors.ts"
import { type RoutingAnswer, RoutingRequest, type Warning } from "../../schema/Routing.ts"
import { HeavyWork } from "../heavy/HeavyWork.ts"
import { costingOf, SURFACES } from "./EngineOptions.ts"
import { type EngineFailure, isNotFound, NO_ROAD, unusable } from "./EngineRefusals.ts"
import { readBy } from "./EngineResponses.ts"
import { waysUnder } from "./RouteWays.ts"
import { RoutingEngine } from "./RoutingEngine.ts"
import { readRoadless, readTrip, type Trip, type Ways } from "./TripJobs.ts"

/** People drag a waypoint back and forth; roads do not change meanwhile. */
const KEPT_FOR = Duration.minutes(5)
const MAX_KEPT = 1000

/** Longer ones are computed again, so that what is kept is at most 128 MiB. */
const MAX_KEPT_CHARACTERS = 131_072

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
      const heavy = yield* HeavyWork

      /** The engine does not say which locations it means: its search, asked the same, does. */
      const noRoadNear = Effect.fnUntraced(function*(json: string) {
        const locations = yield* engine.call("locate", json, readBy(heavy, readRoadless)).pipe(
          Effect.timeout(LOCATE_PATIENCE),
          Effect.orElseSucceed((): ReadonlyArray<number> => [])
        )
        const names = locations.length === 0 ? "a location" : locations.map((index) => `locations.${index}`).join(", ")
        return yield* new NotFound({
          message: `There is no road within ${MAX_SNAP_METRES} m of ${names}`,
          details: { reason: NO_ROAD, ...(locations.length === 0 ? {} : { locations }) }
        })
      })

      /** The route itself says nothing of surfaces: where they matter, or big roads, the engine is asked what is under it. */
      const waysOf = ({ legs }: Trip, { activity, preferences, walkingSpeedKmh }: RoutingRequest) =>
        preferences.surfacePreference === "paved" || preferences.avoidHighways === true
          ? waysUnder(engine, heavy, legs.map(({ shape }) => shape), costingOf(activity, preferences, walkingSpeedKmh))
          : Effect.succeed(NO_WAYS)

      const compute = Effect.fnUntraced(function*(request: RoutingRequest) {
        const json = engineRequest(request)
        const trip = yield* engine.call("route", json, readBy(heavy, readTrip)).pipe(
          Effect.catchIf(isNotFound(NO_ROAD), () => noRoadNear(json))
        )
        const { legs, locations } = trip
        if (locations.length !== request.locations.length) return yield* unusable
        return { legs, locations, warnings: warningsOf(trip, yield* waysOf(trip, request), request) }
      })

      const answers = yield* Cache.makeWith((key: string) => Effect.flatMap(requestOf(key), compute), {
        capacity: MAX_KEPT,
        timeToLive: (exit) => Exit.isSuccess(exit) && isShort(exit.value) ? KEPT_FOR : Duration.zero
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

const isShort = ({ legs }: RoutingAnswer) =>
  legs.reduce((sum, { shape }) => sum + shape.length, 0) <= MAX_KEPT_CHARACTERS

const NO_WAYS: Ways = { hasUnpaved: false, hasHighway: false }

/** What the engine is asked: nothing of the client's but the places. */
const engineRequest = ({ activity, locations, preferences, walkingSpeedKmh }: RoutingRequest) =>
  JSON.stringify({
    locations: locations.map(({ lat, lon }) => ({ lat, lon, search_cutoff: MAX_SNAP_METRES })),
    ...costingOf(activity, preferences, walkingSpeedKmh),
    units: "kilometers",
    directions_type: "none"
  })

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
