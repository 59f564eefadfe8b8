import { Context, Effect, Layer } from "effect"
import type { ElevationProfile } from "../../schema/Elevation.ts"
import type { RouteRef } from "../../schema/Ids.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { HeavyWork } from "../admission/HeavyWork.ts"
import { textOf } from "../bodies/JsonText.ts"
import type { Missing, Overloaded } from "../DomainErrors.ts"
import type { Viewer } from "../sharing/Visibility.ts"
import { measureProfile } from "./RouteJobs.ts"
import { Routes } from "./Routes.ts"

interface Profiled {
  readonly route: StoredRoute
  readonly profile: ElevationProfile
}

export class RouteProfiles extends Context.Service<RouteProfiles, {
  /** Reads a profile by the rules of `Routes.get`. A long line is measured in a thread: `Overloaded` under load. */
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
