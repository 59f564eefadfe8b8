import { Effect } from "effect"
import type { ImportWarning } from "../../schema/Import.ts"
import { MAX_DURATION } from "../../schema/Measures.ts"
import type { NewRoute } from "../../schema/Route.ts"
import { durationOf } from "../../services/files/FileValues.ts"
import { metresBetween } from "../../services/geometry/Geodesy.ts"
import type { MeasuredPolyline } from "../../services/geometry/MeasuredPolyline.ts"
import { lineOf, type RouteDraft } from "../../services/routes/RouteRow.ts"
import { Elevations } from "../../services/routing/Routing.ts"

/** The default duration is the time between the first and the last waypoint with a timestamp. */
export const withDuration = <A extends Pick<NewRoute, "duration" | "waypoints">>(route: A): A => {
  const duration = route.duration ?? durationOf([route.waypoints], ({ timestamp }) => timestamp ?? undefined)
  return duration === undefined || duration > MAX_DURATION ? route : { ...route, duration }
}

const FAR_METRES = 1_000_000
const NEAR_METRES = 100_000

const SWAPPED: ImportWarning = {
  code: "coordinates_swapped",
  message:
    "The first waypoint and the geometry are far apart, and near each other with the degrees of one swapped: expected "
    + "[lng, lat], longitude first",
  count: 1
}

/** Both orders are valid where the longitude is below 90: only the line shows that a waypoint is meant elsewhere. */
export const swappedWarnings = ({ geometry, waypoints }: RouteDraft): ReadonlyArray<ImportWarning> => {
  const [start, coord] = [lineOf(geometry)?.start, waypoints[0]?.coord]
  if (start === undefined || coord === undefined) return []
  const [lng, lat] = start
  return metresBetween(...coord, lng, lat) > FAR_METRES && metresBetween(coord[1], coord[0], lng, lat) < NEAR_METRES
    ? [SWAPPED]
    : []
}

const missingElevations = (count: number): ImportWarning => ({
  code: "elevation_missing",
  message: "Positions without an elevation: the routing engine has none for them, or did not respond",
  count
})

/** Lines get the elevations that the engine has, and warnings where some are missing. */
export const makeWithElevations = Effect.map(
  Elevations,
  (elevations) => (lines: ReadonlyArray<MeasuredPolyline>) =>
    Effect.map(elevations.fillIfPossible(lines), (filled) =>
      filled.map(({ line, missing }) => ({
        line,
        warnings: missing === 0 ? [] : [missingElevations(missing)]
      })))
)
