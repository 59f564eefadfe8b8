import { Cache, Clock, Context, Duration, Effect, Exit, Layer, Option, Ref, Schema } from "effect"
import { ELEVATION_TIMEOUT, MAX_SNAP_METRES, MAX_TRACE_METRES } from "../../schema/Limits.ts"
import { localeOf } from "../../schema/Maneuver.ts"
import type { Activity, RoutingPreferences } from "../../schema/Preferences.ts"
import { type RoutingAnswer, RoutingRequest, type TraceRequest, type Warning } from "../../schema/Routing.ts"
import { HeavyWork } from "../admission/HeavyWork.ts"
import { makeLane } from "../admission/Lane.ts"
import { LANES } from "../admission/Lanes.ts"
import { BeyondEngine, InvalidInput, NoPath, NoRoad, TraceTooLong, UpstreamSlow } from "../DomainErrors.ts"
import { type MeasuredPolyline, polyline6Bytes } from "../geometry/MeasuredPolyline.ts"
import { ENGINE, type EngineFailure, readBy, RoutingEngine, unusable } from "./Engine.ts"
import {
  type BarePositions,
  BROKEN_POLYLINE,
  checkMatch,
  type FilledLine,
  fillHeights,
  isPolar,
  joinMatches,
  type MeasuredTrace,
  measureShortTrace,
  type PieceMatch,
  readBare,
  readHeights,
  readRoadless,
  readTrip,
  readWays,
  surfaceShares,
  type Trip,
  type Ways
} from "./EngineJobs.ts"

const MATCH_TIMEOUT = Duration.seconds(28)

export class TraceMatching extends Context.Service<TraceMatching, {
  /**
   * Matches a trace in pieces within the engine's limits and joins them to a `TraceAnswer` as JSON in UTF-8, without
   * an object for each position of a long trace. Omits parts without a road. Fails with `NoPath` if no part has one.
   */
  readonly match: (request: TraceRequest, trace: MeasuredTrace | undefined) => Effect.Effect<Uint8Array, EngineFailure>
}>()("route-planning-service/TraceMatching") {
  static readonly layer = Layer.effect(
    TraceMatching,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine
      const heavy = yield* HeavyWork
      const inTurn = yield* makeLane("traces", LANES.traces)

      const measured = Effect.fnUntraced(function*(request: TraceRequest) {
        const bytes = polyline6Bytes(request.encodedPolyline ?? "")
        const trace = yield* heavy.run(measureShortTrace, request, bytes)
        return trace ?? (yield* new InvalidInput({ issues: [BROKEN_POLYLINE] }))
      })

      // The check is within the call, so that a fault counts as the engine's; without a free thread the join does it.
      const checked = (text: string) =>
        readBy(heavy, checkMatch)(text).pipe(Effect.catchTag("Overloaded", () => Effect.void), Effect.as(text))

      const matchPiece = Effect.fnUntraced(function*(piece: string, trace: MeasuredTrace, request: TraceRequest) {
        const match = inTurn(engine.call("trace_attributes", matchRequest(piece, request), checked))
        const unmatched = Effect.succeed<PieceMatch>({ unmatched: piece })
        return yield* Effect.map(match, (match): PieceMatch => ({ match })).pipe(
          // The engine's `NoRoad` is about an end of the piece, such as one outside the map.
          Effect.catchTag(["NoPath", "NoRoad"], () => unmatched),
          Effect.catchTag("BeyondEngine", (failure) => {
            const limit = failure.limit === "distance" ? "gaps" : failure.limit
            return limit === "gaps" && trace.pieces.length > 1
              ? unmatched
              : Effect.fail(new BeyondEngine({ limit, member: trace.member }))
          })
        )
      })

      return TraceMatching.of({
        match: Effect.fnUntraced(
          function*(request, given) {
            const trace = given ?? (yield* measured(request))
            if (trace.metres > MAX_TRACE_METRES) {
              return yield* new TraceTooLong({ member: trace.member, metres: MAX_TRACE_METRES })
            }
            const pieces = yield* Effect.forEach(trace.pieces, (piece) => matchPiece(piece, trace, request), {
              concurrency: LANES.traces.atOnce
            })
            if (pieces.every((piece) => "unmatched" in piece)) return yield* new NoPath({ of: "trace" })
            const joined = yield* heavy.run(joinMatches, { pieces, metres: trace.metres }, charactersOf(pieces))
            return joined ?? (yield* unusable())
          },
          Effect.timeoutOrElse({
            duration: MATCH_TIMEOUT,
            orElse: () => Effect.fail(new UpstreamSlow({ name: ENGINE }))
          })
        )
      })
    })
  )
}

const charactersOf = (pieces: ReadonlyArray<PieceMatch>) =>
  pieces.reduce((sum, piece) => sum + ("match" in piece ? piece.match : piece.unmatched).length, 0)

const matchRequest = (shape: string, request: TraceRequest) => {
  const rest = JSON.stringify({
    ...costingOf(request, EVERY_PATH),
    shape_match: "map_snap",
    units: "kilometers",
    filters: { attributes: ATTRIBUTES, action: "include" }
  })
  return `{"shape":${shape},${rest.slice(1)}`
}

const ATTRIBUTES = [
  "edge.surface",
  "edge.length",
  "edge.names",
  "edge.road_class",
  "edge.use",
  "edge.unpaved",
  "edge.way_id",
  "edge.speed",
  "edge.begin_shape_index",
  "edge.end_shape_index",
  "shape",
  "matched.point",
  "matched.type",
  "matched.edge_index",
  "matched.distance_from_trace_point"
]

/** Valhalla silently resets values of these options that are out of range. */
type Options = Readonly<Record<string, string | number>>

interface Costing {
  readonly costing: "bicycle" | "pedestrian"
  readonly costing_options: Readonly<Record<string, Options>>
}

const BICYCLE_SURFACES = new Map<string | undefined, Options>([
  // 1 would forbid bad surfaces, also at the start and the end.
  ["paved", { bicycle_type: "Road", avoid_bad_surfaces: 0.8 }],
  ["unpaved", { bicycle_type: "Cross", avoid_bad_surfaces: 0, use_roads: 0.1 }]
])

/** Pedestrian costing has no surfaces; tracks come closest. */
const PEDESTRIAN_SURFACES = new Map<string | undefined, Options>([
  ["paved", { use_tracks: 0 }],
  ["unpaved", { use_tracks: 1 }]
])

/** The engine's own default speed is that of a walk. */
const SPEED_KMH: Partial<Record<Activity, number>> = { run: 10 }

const SURFACES = ["paved", "any", "unpaved"]

const FERRIES: Options = { use_ferry: 0 }

/** The person was there. By default the engine knows no path above T1 of the `sac_scale`. */
const EVERY_PATH: Options = { max_hiking_difficulty: 6 }

const bicycle = ({ avoidFerries, avoidHighways, surfacePreference }: RoutingPreferences): Options => ({
  bicycle_type: "Hybrid",
  ...BICYCLE_SURFACES.get(surfacePreference),
  ...(avoidFerries === true ? FERRIES : {}),
  ...(avoidHighways === true ? { use_roads: 0.1 } : {})
})

const pedestrian = (
  { avoidFerries, avoidHighways, surfacePreference }: RoutingPreferences,
  walkingSpeedKmh: number | undefined
): Options => ({
  ...PEDESTRIAN_SURFACES.get(surfacePreference),
  ...(avoidFerries === true ? FERRIES : {}),
  ...(avoidHighways === true ? { walkway_factor: 0.8, sidewalk_factor: 0.9 } : {}),
  ...(walkingSpeedKmh === undefined ? {} : { walking_speed: walkingSpeedKmh })
})

interface Ride {
  readonly activity: Activity
  readonly preferences?: RoutingPreferences | undefined
  readonly walkingSpeedKmh?: number | undefined
}

const costingOf = (
  { activity, preferences = {}, walkingSpeedKmh = SPEED_KMH[activity] }: Ride,
  onFoot: Options = {}
): Costing =>
  activity === "cycle"
    ? { costing: "bicycle", costing_options: { bicycle: bicycle(preferences) } }
    : {
      costing: "pedestrian",
      costing_options: { pedestrian: { ...onFoot, ...pedestrian(preferences, walkingSpeedKmh) } }
    }

/** Surfaces, warnings and the location that has no road are worth this wait. */
const DETAILS_TIMEOUT = "1 second"

const WAY_ATTRIBUTES = ["edge.unpaved", "edge.road_class", "edge.surface", "edge.length"]

/** `edge_walk` needs no search: the polyline is the engine's own. */
const walkRequest = (shape: string, costing: Costing) =>
  JSON.stringify({
    encoded_polyline: shape,
    ...costing,
    shape_match: "edge_walk",
    filters: { attributes: WAY_ATTRIBUTES, action: "include" }
  })

/** Returns undefined where the engine fails or is late. It refuses a leg without a length. */
const waysAlong = (
  engine: RoutingEngine["Service"],
  heavy: HeavyWork["Service"],
  legs: Trip["legs"],
  costing: Costing
): Effect.Effect<Ways | undefined> =>
  Effect.forEach(
    legs.filter(({ summary }) => summary.length > 0),
    ({ shape, summary: { length } }) =>
      engine.call("trace_attributes", walkRequest(shape, costing), readBy(heavy, readWays)).pipe(
        // An edge that a leg follows backwards has no length.
        Effect.map(({ surfaces, ...ways }) => ({
          ...ways,
          surfaces: surfaces.length === 1 ? surfaces.map((one) => ({ ...one, length })) : surfaces
        }))
      ),
    { concurrency: 2 }
  ).pipe(
    Effect.timeout(DETAILS_TIMEOUT),
    Effect.map((ways) => ({
      hasUnpaved: ways.some(({ hasUnpaved }) => hasUnpaved),
      hasHighway: ways.some(({ hasHighway }) => hasHighway),
      surfaces: surfaceShares(ways.flatMap(({ surfaces }) => surfaces))
    })),
    Effect.orElseSucceed(() => undefined)
  )

const KEPT_FOR = Duration.minutes(5)
const MAX_KEPT = 1000

/** Longer routes are not cached, so that the cache has at most 128 MiB. */
const MAX_KEPT_CHARACTERS = 131_072

interface Computed {
  readonly response: RoutingAnswer
  readonly isCached: boolean
}

export class Routing extends Context.Service<Routing, {
  /**
   * The route is cached for five minutes, as long as the map stays, unless its ways were asked for in vain; concurrent
   * requests share one computation.
   */
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
          Effect.timeout(DETAILS_TIMEOUT),
          Effect.orElseSucceed((): ReadonlyArray<number> => [])
        )
        return yield* new NoRoad({ near: { metres: MAX_SNAP_METRES, locations } })
      })

      /** Requests surfaces and road classes for the caller or a preference that needs them: a route has neither. */
      const waysOf = ({ legs }: Trip, request: RoutingRequest) => {
        const { preferences: { avoidHighways, surfacePreference }, surfaces } = request
        return surfaces === true || surfacePreference === "paved" || avoidHighways === true
          ? waysAlong(engine, heavy, legs, costingOf(request))
          : Effect.succeed(NO_WAYS)
      }

      const compute = Effect.fnUntraced(function*(request: RoutingRequest) {
        const polar = request.locations.flatMap(({ lat }, index) => isPolar(lat) ? [index] : [])
        if (polar.length > 0) return yield* new NoRoad({ near: { metres: MAX_SNAP_METRES, locations: polar } })
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
        const known = yield* waysOf(trip, request)
        const ways = known ?? NO_WAYS
        const response: RoutingAnswer = {
          legs,
          locations,
          ...(request.directions === true ? { maneuvers } : {}),
          ...(request.surfaces === true && ways.surfaces.length > 0 ? { surfaces: ways.surfaces } : {}),
          warnings: warningsOf(trip, ways, request)
        }
        return { response, isKept: known !== undefined && isShort(response) }
      })

      const responses = yield* Cache.makeWith((key: string) => Effect.flatMap(requestOf(key), compute), {
        capacity: MAX_KEPT,
        timeToLive: (exit) => Exit.isSuccess(exit) && exit.value.isKept ? KEPT_FOR : Duration.zero
      })

      const map = yield* Ref.make(Option.none<number>())

      const forgetOldMap = Effect.gen(function*() {
        const date = yield* engine.mapDate
        const before = yield* Ref.getAndSet(map, date)
        if (Option.isSome(before) && Option.getOrNull(date) !== before.value) yield* Cache.invalidateAll(responses)
      })

      return Routing.of({
        route: Effect.fnUntraced(function*(request) {
          yield* forgetOldMap
          const key = yield* keyOf(request)
          const isCached = yield* Cache.has(responses, key)
          const { response } = yield* Cache.get(responses, key)
          return { response, isCached }
        })
      })
    })
  )
}

/** Cache keys are texts: the hash of a structure is unseeded, and clients could send many that collide. */
const RequestText = Schema.fromJsonString(RoutingRequest)

const keyOf = (request: RoutingRequest) => Effect.orDie(Schema.encodeEffect(RequestText)(request))

const requestOf = (key: string) => Effect.orDie(Schema.decodeEffect(RequestText)(key))

/** The other members of a maneuver have this many characters as text. */
const MANEUVER_CHARACTERS = 100

const isShort = ({ legs, maneuvers = [] }: RoutingAnswer) =>
  legs.reduce((sum, { shape }) => sum + shape.length, 0)
      + maneuvers.reduce((sum, { instruction }) => sum + MANEUVER_CHARACTERS + instruction.length, 0)
    <= MAX_KEPT_CHARACTERS

const NO_WAYS: Ways = { hasUnpaved: false, hasHighway: false, surfaces: [] }

const directionsOf = ({ directions, language = "en-US" }: RoutingRequest) =>
  directions === true
    ? { directions_type: "instructions", language: localeOf(language) }
    : { directions_type: "none" }

const engineRequest = (request: RoutingRequest) =>
  JSON.stringify({
    locations: request.locations.map(({ lat, lon }) => ({ lat, lon, search_cutoff: MAX_SNAP_METRES })),
    ...costingOf(request),
    units: "kilometers",
    ...directionsOf(request)
  })

const warningsOf = (
  { summary }: Trip,
  { hasHighway, hasUnpaved }: Ways,
  { preferences: { avoidFerries, avoidHighways, surfacePreference = "any" } }: RoutingRequest
): ReadonlyArray<Warning> => {
  const isFerry = avoidFerries === true && summary.has_ferry === true
  const isHighway = avoidHighways === true && (hasHighway || summary.has_highway === true)
  const isUnpaved = surfacePreference === "paved" && hasUnpaved
  const unknown = `surfacePreference "${surfacePreference}" is unknown and was ignored`
  const warnings: ReadonlyArray<readonly [boolean, Warning]> = [
    [isFerry, { code: "ferry_used", message: "The route takes a ferry" }],
    [isHighway, { code: "highway_used", message: "The route takes a highway" }],
    [isUnpaved, { code: "unpaved_used", message: "Parts of the route are not paved" }],
    [
      !SURFACES.includes(surfacePreference),
      { code: "preference_unknown", message: `${unknown}: Expected one of ${SURFACES.join(", ")}` }
    ]
  ]
  return warnings.flatMap(([isTrue, warning]) => isTrue ? [warning] : [])
}

const CALLS_AT_ONCE = 2

/** Shorter than `ELEVATION_TIMEOUT`, whose interruption would not count as a failure of an engine that hangs. */
const HEIGHT_TIMEOUT = Duration.subtract(ELEVATION_TIMEOUT, Duration.millis(100))

export class Elevations extends Context.Service<Elevations, {
  /** Fills in elevations. Given ones stay, and a position for which the engine has none stays as it is. */
  readonly fill: (line: MeasuredPolyline) => Effect.Effect<FilledLine, EngineFailure>
  /** Leaves lines as they are if the engine fails, or if they are not done within `ELEVATION_TIMEOUT`. */
  readonly fillIfPossible: (lines: ReadonlyArray<MeasuredPolyline>) => Effect.Effect<ReadonlyArray<FilledLine>>
}>()("route-planning-service/Elevations") {
  static readonly layer = Layer.effect(
    Elevations,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine
      const heavy = yield* HeavyWork

      const heightsOf = ({ count, polyline }: BarePositions, timeout?: Duration.Duration) =>
        engine.call(
          "height",
          JSON.stringify({ encoded_polyline: polyline, height_precision: 1 }),
          (text) => Effect.filterOrFail(readBy(heavy, readHeights)(text), ({ length }) => length === count, unusable),
          timeout
        )

      const fill = Effect.fnUntraced(function*(line: MeasuredPolyline, timeout?: Duration.Duration) {
        const { json, segments } = line
        const bare = yield* heavy.run(readBare, json, json.length)
        if (bare.length === 0) return { line, filled: 0, missing: 0 }
        const parts = yield* Effect.forEach(bare, (part) => heightsOf(part, timeout), { concurrency: CALLS_AT_ONCE })
        const heights = Float64Array.from(parts.flatMap((part) => Array.from(part)))
        return yield* heavy.run(fillHeights, { json, segments, heights }, FILL_WEIGHT * json.length)
      })

      return Elevations.of({
        fill,
        fillIfPossible: Effect.fnUntraced(function*(lines) {
          const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(ELEVATION_TIMEOUT)
          const fillUntilEnd = Effect.fnUntraced(function*(line: MeasuredPolyline) {
            const left = end - (yield* Clock.currentTimeMillis)
            if (left <= 0) return asItIs(line)
            return yield* Effect.orElseSucceed(Effect.timeout(fill(line, HEIGHT_TIMEOUT), left), () => asItIs(line))
          })
          return yield* Effect.forEach(lines, fillUntilEnd)
        })
      })
    })
  )
}

/** A line with all elevations has three numbers to a position, with a comma between any two. */
const asItIs = (line: MeasuredPolyline): FilledLine => {
  let commas = 0
  for (let at = line.json.indexOf(","); at !== -1; at = line.json.indexOf(",", at + 1)) commas++
  return { line, filled: 0, missing: Math.max(0, 3 * line.positionCount - 1 - commas) }
}

/** Measuring takes twice as long as parsing. */
const FILL_WEIGHT = 2
