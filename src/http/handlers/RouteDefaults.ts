import { Effect } from "effect"
import type { ImportWarning } from "../../schema/Import.ts"
import { MAX_DURATION } from "../../schema/Measures.ts"
import { type NewRoute } from "../../schema/Route.ts"
import { durationOf } from "../../services/files/FileValues.ts"
import type { MeasuredPolyline } from "../../services/geometry/MeasuredPolyline.ts"
import { Elevations } from "../../services/routing/Elevations.ts"

/** The default duration is the time between the first and the last waypoint with a timestamp. */
export const withDuration = <A extends Pick<NewRoute, "duration" | "waypoints">>(route: A): A => {
  const duration = route.duration ?? durationOf([route.waypoints], ({ timestamp }) => timestamp ?? undefined)
  return duration === undefined || duration > MAX_DURATION ? route : { ...route, duration }
}

const missingElevations = (count: number): ImportWarning => ({
  code: "elevation_missing",
  message: "Positions without an elevation: the routing engine has none for them, or did not respond",
  count
})

/** Lines with the elevations that the engine has, and warnings where some are missing. */
export const makeWithElevations = Effect.map(
  Elevations,
  (elevations) => (lines: ReadonlyArray<MeasuredPolyline>) =>
    Effect.map(elevations.fillIfPossible(lines), (filled) =>
      filled.map(({ line, missing }) => ({
        line,
        warnings: missing === 0 ? [] : [missingElevations(missing)]
      })))
)
