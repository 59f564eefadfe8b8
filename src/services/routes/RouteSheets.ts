import { Cache, Context, Duration, Effect, Exit, Layer, Option, Schema } from "effect"
import type { ElevationProfile } from "../../schema/Elevation.ts"
import { RouteRef, UserId } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { HeavyWork } from "../admission/HeavyWork.ts"
import { Lanes } from "../admission/Lanes.ts"
import { textOf } from "../bodies/JsonText.ts"
import type { Missing, Overloaded } from "../DomainErrors.ts"
import { CountsUses } from "../sharing/LinkUses.ts"
import type { Viewer } from "../sharing/Visibility.ts"
import { measureProfile } from "./RouteJobs.ts"
import { Routes } from "./Routes.ts"
import { measureSheet, type RouteSheet } from "./RouteSheet.ts"

interface Profiled {
  readonly route: StoredRoute
  readonly profile: ElevationProfile
}

export class RouteProfiles extends Context.Service<RouteProfiles, {
  /** Reads a profile by the rules of `Routes.get`. A thread measures a long line: `Overloaded` under load. */
  readonly get: (
    ref: RouteRef,
    viewer: Viewer,
    samples: number
  ) => Effect.Effect<Profiled, Missing | Overloaded>
}>()("route-planning-service/RouteProfiles") {
  static readonly layer = Layer.effect(
    RouteProfiles,
    Effect.gen(function*() {
      const heavy = yield* HeavyWork
      const routes = yield* Routes
      return RouteProfiles.of({
        get: Effect.fnUntraced(function*(ref, viewer, samples) {
          const route = yield* routes.get(ref, viewer, "full")
          const geometry = textOf(route.geometry ?? "[]")
          const sampled = { geometry, segments: route.segments, samples }
          return { route, profile: yield* heavy.run(measureProfile, sampled, geometry.length) }
        })
      })
    })
  )
}

/** A sheet has about 35 KiB, 100 at most. */
const MAX_KEPT = 200

const KEPT_FOR = Duration.minutes(10)

const Key = Schema.fromJsonString(Schema.Struct({
  ref: Schema.toType(RouteRef),
  viewer: Schema.NullOr(UserId),
  version: Schema.Int,
  cutRevision: Schema.Int
}))

const encodeKey = Schema.encodeSync(Key)
const decodeKey = Schema.decodeSync(Key)

/** A route that no privacy zone cuts has no revision. */
const NO_CUT = -1

export class RouteSheets extends Context.Service<RouteSheets, {
  /** Measures the line of a route that was read for the viewer, and keeps the result. This is no use of a link. */
  readonly of: (ref: RouteRef, viewer: Viewer, route: StoredRoute) => Effect.Effect<RouteSheet, Missing | Overloaded>
}>()("route-planning-service/RouteSheets") {
  static readonly layer = Layer.effect(
    RouteSheets,
    Effect.gen(function*() {
      const heavy = yield* HeavyWork
      const { downloads } = yield* Lanes
      const routes = yield* Routes

      const measured = Effect.fnUntraced(
        function*(key: string) {
          const { ref, viewer } = decodeKey(key)
          const { cues = "[]", geometry, segments = "[]", waypoints } = yield* routes.get(
            ref,
            Option.fromNullOr(viewer),
            "full"
          )
          const given = { cues, geometry: textOf(geometry ?? "[]"), segments, waypoints }
          return yield* heavy.run(measureSheet, given, given.geometry.length + cues.length + waypoints.length)
        },
        Effect.provideService(CountsUses, false),
        downloads
      )

      const sheets = yield* Cache.makeWith((key: string) => measured(key), {
        capacity: MAX_KEPT,
        timeToLive: (exit) => Exit.isSuccess(exit) ? KEPT_FOR : Duration.zero
      })

      return RouteSheets.of({
        of: (ref, viewer, { cutRevision = NO_CUT, version }) =>
          Cache.get(sheets, encodeKey({ ref, viewer: Option.getOrNull(viewer), version, cutRevision }))
      })
    })
  )
}
