import { Effect } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import type { BoundingBox } from "../../schema/Geometry.ts"
import type { Bounds, Duplicate } from "../../schema/Import.ts"
import type { Place, StoredRoute } from "../../schema/Route.ts"
import { textOf, withMembers } from "../../services/bodies/JsonText.ts"
import type { TrackSummary } from "../../services/files/Draft.ts"
import { Places } from "../../services/places/Places.ts"
import type { ReadFiles } from "../../services/routes/FileJobs.ts"
import { startOf } from "../../services/routes/RouteRow.ts"
import { importedRoute, type VersionedRoute } from "./RouteJson.ts"
import { createdResponse, jsonResponse } from "./Versioned.ts"

const boxOf = (bounds: BoundingBox | undefined): { readonly bounds?: typeof Bounds.Type } =>
  bounds === undefined ? {} : { bounds: [bounds.west, bounds.south, bounds.east, bounds.north] }

/** Distances are precise to a millimetre at best. */
const metres = (distance: number) => Math.round(distance * 1000) / 1000

const trackOf = ({ bounds, distance, file, index, name, positions }: TrackSummary, place: Place) => ({
  index,
  name,
  ...(file === undefined ? {} : { file }),
  positions,
  distance: metres(distance),
  ...boxOf(bounds),
  ...place
})

const tracksOf = Effect.fnUntraced(function*({ tracks }: ReadFiles) {
  const places = yield* Places
  return yield* Effect.forEach(tracks, (track) =>
    Effect.map(
      track.start === undefined ? Effect.succeed({}) : places.at(track.start),
      (place) => trackOf(track, place)
    ))
})

export const requireChosen = Effect.fnUntraced(function*(file: ReadFiles) {
  if (file.routes.length > 0) return
  const message = `The file has ${file.trackCount} tracks: expected split=true, join=true or track=0 to `
    + `${file.trackCount - 1}`
  return yield* new ValidationFailed({
    message,
    details: { issues: [{ path: "track", message }], tracks: yield* tracksOf(file) }
  })
})

export const dryRunResponse = Effect.fnUntraced(function*(file: ReadFiles, duplicates: ReadonlyArray<Duplicate>) {
  const { dropped, format, routes, trackCount } = file
  const places = yield* Places
  const common = { format, tracks: yield* tracksOf(file), trackCount, duplicates, dropped }
  const [only] = routes
  if (only === undefined || routes.length > 1) {
    return jsonResponse(JSON.stringify({ ...common, warnings: routes.flatMap(({ warnings }) => warnings) }))
  }
  const { bounds, distance, line, route, warnings } = only
  const place = yield* places.at(startOf(line, route.waypoints))
  const { duration } = route
  const text = JSON.stringify({
    ...common,
    distance: metres(distance),
    ...(duration === undefined ? {} : { duration }),
    ...boxOf(bounds),
    ...place,
    warnings
  })
  const json = withMembers(text, ["route", withMembers(JSON.stringify(route), ["geometry", line.json])])
  return jsonResponse(json)
})

export const importedResponse = (
  { routes: read }: ReadFiles,
  stored: ReadonlyArray<StoredRoute>,
  isList: boolean,
  versionedRoute: VersionedRoute
) => {
  const imported = stored.map((route, index) => importedRoute(versionedRoute(route), read[index]?.warnings ?? []))
  const [first] = imported
  return isList || first === undefined
    ? jsonResponse(`[${imported.map(({ json }) => textOf(json())).join(",")}]`, { status: 201 })
    : createdResponse(first)
}
