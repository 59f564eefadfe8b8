import polyline from "@mapbox/polyline"
import { Cache, Context, Duration, Effect, Exit, Layer, Option, Schema } from "effect"
import {
  BadGateway,
  type GatewayTimeout,
  type NotFound,
  type Unavailable,
  type ValidationFailed
} from "../schema/Errors.ts"
import type { RoutingAnswer, RoutingRequest, Warning } from "../schema/Routing.ts"
import { costingOf } from "./EngineOptions.ts"
import { RoutingEngine } from "./RoutingEngine.ts"

/** People drag a waypoint back and forth; roads do not change meanwhile. */
const KEPT_FOR = Duration.minutes(5)
const MAX_KEPT = 1000

type Failure = ValidationFailed | NotFound | BadGateway | Unavailable | GatewayTimeout

/** A computed route, and whether it was computed for this caller. */
export interface Computed {
  readonly answer: RoutingAnswer
  readonly isCached: boolean
}

/** Routes between locations, by the routing engine. */
export class Routing extends Context.Service<Routing, {
  /** The same request is computed once, for whoever asks meanwhile and for five minutes, as long as the map stays. */
  readonly route: (request: RoutingRequest) => Effect.Effect<Computed, Failure>
}>()("route-planning-service/Routing") {
  static readonly layer = Layer.effect(
    Routing,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine

      const compute = Effect.fnUntraced(function*(key: string) {
        const { request } = yield* Effect.orDie(decodeKey(key))
        const body = yield* engine.call("route", request)
        return yield* Effect.mapError(decodeTrip(body), () => garbage)
      })

      const trips = yield* Cache.makeWith(compute, {
        capacity: MAX_KEPT,
        timeToLive: (exit) => Exit.isSuccess(exit) ? KEPT_FOR : Duration.zero
      })

      return Routing.of({
        route: Effect.fn("Routing.route")(function*(request) {
          const tilesOf = Option.match(yield* engine.status, {
            onNone: () => 0,
            onSome: ({ tileset_last_modified }) => tileset_last_modified
          })
          const key = encodeKey({ tilesOf, request: engineRequest(request) })
          const isCached = yield* Cache.has(trips, key)
          const { trip } = yield* Cache.get(trips, key)
          return { answer: toAnswer(trip, request), isCached }
        })
      })
    })
  )
}

const garbage = new BadGateway({ message: "The routing engine gave an answer that cannot be used" })

/** What the engine is asked: nothing of the client's but the places. */
const engineRequest = ({ activity, locations, preferences, walkingSpeedKmh }: RoutingRequest) => ({
  locations: locations.map(({ lat, lon }) => ({ lat, lon })),
  ...costingOf(activity, preferences, walkingSpeedKmh),
  units: "kilometers",
  directions_type: "none"
})

const Key = Schema.fromJsonString(
  Schema.Struct({ tilesOf: Schema.Finite, request: Schema.Record(Schema.String, Schema.Unknown) })
)

const encodeKey = Schema.encodeSync(Key)
const decodeKey = Schema.decodeEffect(Key)

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

const POLYLINE_PRECISION = 6

/** The engine gives back the locations that it was asked for; where it found roads is at the ends of the legs. */
const snappedOf = ({ legs }: Trip) => {
  const lines = legs.map(({ shape }) => polyline.decode(shape, POLYLINE_PRECISION))
  const points = [lines[0]?.[0], ...lines.map((line) => line.at(-1))].filter((point) => point !== undefined)
  return points.map(([lat, lon], original_index) => ({ lat, lon, original_index }))
}

/** Penalties do not forbid: what could not be avoided is said. */
const warningsOf = ({ summary }: Trip, { preferences }: RoutingRequest): ReadonlyArray<Warning> => [
  ...(preferences.avoidFerries === true && summary.has_ferry === true
    ? [{ code: "ferry_used", message: "There is no way around a ferry" } as const]
    : []),
  ...(preferences.avoidHighways === true && summary.has_highway === true
    ? [{ code: "highway_used", message: "There is no way around a highway" } as const]
    : [])
]

const toAnswer = (trip: Trip, request: RoutingRequest): RoutingAnswer => ({
  legs: trip.legs,
  locations: snappedOf(trip),
  warnings: warningsOf(trip, request)
})
