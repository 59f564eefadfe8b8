import { create, parse } from "content-disposition"
import { Array as Arr, Context, Effect, Option } from "effect"
import { type Headers, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { isUtf8 } from "node:buffer"
import { ValidationFailed } from "../../schema/Errors.ts"
import type { BoundingBox } from "../../schema/Geometry.ts"
import type { RouteRef } from "../../schema/Ids.ts"
import {
  type Bounds,
  DEFAULT_GPX_FORM,
  type Duplicate,
  type FileFormat,
  type GpxQuery,
  type ImportQuery
} from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { Place, StoredRoute } from "../../schema/Route.ts"
import { withoutFormat } from "../../schema/Text.ts"
import { Lanes } from "../../services/admission/Lanes.ts"
import { textOf, withMembers } from "../../services/bodies/JsonText.ts"
import type { TrackChoice, TrackSummary } from "../../services/files/Draft.ts"
import { FILE_ENCODINGS } from "../../services/files/PackedFile.ts"
import { centimetres } from "../../services/geometry/Geodesy.ts"
import { Places } from "../../services/geometry/Places.ts"
import type { ReadFiles } from "../../services/routes/FileJobs.ts"
import { repeatsIn, RouteDuplicates } from "../../services/routes/RouteDuplicates.ts"
import { RouteFiles } from "../../services/routes/RouteFiles.ts"
import { startOf } from "../../services/routes/RouteRow.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { Caller, Viewer } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyLimit } from "../api/Requests.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { RequestBodies } from "../request/RequestBodies.ts"
import { Downloads } from "../response/Downloads.ts"
import { worded } from "../response/PublicErrors.ts"
import { fileTag, importedRoute, makeVersionedRoute, type VersionedRoute } from "../response/ResourceJson.ts"
import { createdResponse, isKnown, jsonResponse, locatedAt, notModified, robotsFor } from "../response/Versioned.ts"
import { makeWithElevations } from "./RouteDefaults.ts"

const boxOf = (bounds: BoundingBox | undefined): { readonly bounds?: typeof Bounds.Type } =>
  bounds === undefined ? {} : { bounds: [bounds.west, bounds.south, bounds.east, bounds.north] }

const trackOf = ({ bounds, distance, file, index, name, positions }: TrackSummary, place: Place) => ({
  index,
  name,
  ...(file === undefined ? {} : { file }),
  positions,
  distance: centimetres(distance),
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

const requireChosen = Effect.fnUntraced(function*(file: ReadFiles) {
  if (file.routes.length > 0) return
  const message = `The file has ${file.trackCount} tracks: expected split=true, join=true or track=0 to `
    + `${file.trackCount - 1}`
  return yield* new ValidationFailed({
    message,
    details: { issues: [{ path: "query.track", message }], tracks: yield* tracksOf(file) }
  })
})

const dryRunResponse = Effect.fnUntraced(function*(file: ReadFiles, duplicates: ReadonlyArray<Duplicate>) {
  const { dropped, format, routes, trackCount } = file
  const places = yield* Places
  const common = { format, tracks: yield* tracksOf(file), trackCount, duplicates, dropped }
  const [only, second] = routes
  if (only === undefined || second !== undefined) {
    return jsonResponse(JSON.stringify({ ...common, warnings: routes.flatMap(({ warnings }) => warnings) }))
  }
  const { bounds, distance, line, route, warnings } = only
  const place = yield* places.at(startOf(line, route.waypoints))
  const { duration } = route
  const text = JSON.stringify({
    ...common,
    distance: centimetres(distance),
    ...(duration === undefined ? {} : { duration }),
    ...boxOf(bounds),
    ...place,
    warnings
  })
  const json = withMembers(text, [
    "route",
    withMembers(JSON.stringify(route), ["geometry", line.json], [
      "segments",
      line.segments ?? undefined
    ])
  ])
  return jsonResponse(json)
})

const importedResponse = (
  { routes: read }: ReadFiles,
  stored: ReadonlyArray<StoredRoute>,
  isList: boolean,
  versionedRoute: VersionedRoute
) => {
  const imported = stored.map((route, index) => importedRoute(versionedRoute(route), read[index]?.warnings ?? []))
  const [first] = imported
  return isList || first === undefined
    ? jsonResponse(`[${imported.map(({ json }) => textOf(json())).join(",")}]`, {
      status: 201,
      headers: locatedAt("/routes")
    })
    : createdResponse(first)
}

/** A file that is in an archive twice makes one route, unless duplicates are allowed. The first route says so. */
const withoutRepeats = (file: ReadFiles): ReadFiles => {
  const repeats = repeatsIn(file.routes.map(({ line }) => line))
  const [first, ...others] = file.routes.filter((_, index) => !repeats.has(index))
  if (repeats.size === 0 || first === undefined) return file
  const warning = {
    code: "dropped" as const,
    message: "tracks: another one has the same line",
    count: repeats.size
  }
  return { ...file, routes: [{ ...first, warnings: [...first.warnings, warning] }, ...others] }
}

interface Download {
  readonly params: { readonly ref: RouteRef }
  readonly query?: typeof GpxQuery.Type
  readonly request: HttpServerRequest.HttpServerRequest
}

export const FilesHandlers = HttpApiBuilder.group(
  Api,
  "files",
  Effect.fn(function*(handlers) {
    const bodies = yield* RequestBodies
    const downloads = yield* Downloads
    const duplicates = yield* RouteDuplicates
    const files = yield* RouteFiles
    const lanes = yield* Lanes
    const idempotency = yield* Idempotency
    const routes = yield* Routes
    const withElevations = yield* makeWithElevations
    const versionedRoute = yield* makeVersionedRoute
    const withPlaces = Effect.provideService(Places, yield* Places)

    const elevated = Effect.fnUntraced(function*(file: ReadFiles) {
      const filled = yield* withElevations(file.routes.map(({ line }) => line))
      const routes = Arr.zipWith(file.routes, filled, (route, { line, warnings }) => ({
        ...route,
        line,
        warnings: [...route.warnings, ...warnings]
      }))
      return { ...file, routes, digest: `${file.digest} elevation` }
    })

    const download = (format: FileFormat) =>
      Effect.fnUntraced(function*({ params, query, request }: Download) {
        const form = query?.as ?? DEFAULT_GPX_FORM
        const viewer = Option.map(yield* Viewer, ({ userId }) => userId)
        yield* downloads.admit
        return yield* lanes.downloads(Effect.gen(function*() {
          const route = yield* files.find(params.ref, viewer)
          const etag = fileTag(route, format, form)
          if (isKnown(request.headers[HEADERS.ifNoneMatch.key], etag)) return notModified(etag)
          const { bytes, size } = yield* files.write(route, format, form)
          return HttpServerResponse.stream(bytes, {
            contentType: MEDIA_TYPES[format],
            contentLength: size,
            headers: {
              [HEADERS.contentDisposition.key]: create(`${fileName(route.name)}.${format}`),
              [HEADERS.etag.key]: etag,
              ...robotsFor(route.visibility)
            }
          })
        }))
      }, worded)

    return handlers
      // The handler is raw: the framework accepts only the declared content type.
      .handleRaw(
        "import",
        Effect.fnUntraced(function*({ endpoint, headers, query, request }) {
          const { userId } = yield* Caller
          const choice = yield* choiceOf(query)
          const bytes = yield* bodies.read(request, Context.get(endpoint.annotations, BodyLimit), FILE_ENCODINGS)
          const given = yield* files.read(bytes, { ...choice, ...headersOf(request.headers), name: query.name })
          const read = query.duplicates === "allow" ? given : withoutRepeats(given)
          const isElevated = query.elevation === "true" && query.dryRun !== "true"
          const file = isElevated ? yield* elevated(read) : read
          const { clientId = null } = query
          const drafts = file.routes.map(({ line, route, track }) => ({ ...route, geometry: line, clientId, track }))
          if (query.dryRun === "true") {
            return yield* withPlaces(dryRunResponse(file, yield* duplicates.find(userId, drafts)))
          }
          yield* withPlaces(requireChosen(file))
          if (clientId !== null && drafts.length > 1) {
            return yield* ValidationFailed.at(
              "query",
              "clientId",
              "Names one route: expected join=true or track, not split=true"
            )
          }
          const created = query.duplicates === "allow"
            ? routes.createAll(userId, drafts)
            : duplicates.createUnlessThere(userId, drafts)
          const work = Effect.map(created, (stored) => importedResponse(file, stored, choice.split, versionedRoute))
          return yield* lanes.imports(idempotency.once(userId, { headers, request }, () => file.digest, work))
        }, worded)
      )
      .handle("gpx", download("gpx"))
      .handle("geojson", download("geojson"))
      .handle("tcx", download("tcx"))
      .handle("kml", download("kml"))
      .handle("fit", download("fit"))
  })
)

/** Node decodes headers as Latin-1; curl and scripts send names in UTF-8. */
const parsedDisposition = Option.liftThrowable((header: string) => {
  const bytes = Buffer.from(header, "latin1")
  return parse(isUtf8(bytes) ? bytes.toString() : header)
})

const headersOf = (headers: Headers.Headers) => ({
  contentType: headers["content-type"],
  contentEncoding: headers["content-encoding"],
  fileName: Option.fromNullishOr(headers[HEADERS.contentDisposition.key]).pipe(
    Option.flatMap(parsedDisposition),
    Option.map(({ parameters }) => parameters["filename"]),
    Option.getOrUndefined
  )
})

const choiceOf = ({ join, split, track }: typeof ImportQuery.Type): Effect.Effect<TrackChoice, ValidationFailed> => {
  const choice = { split: split === "true", join: join === "true", track }
  const given = [choice.split, choice.join, track !== undefined].filter((isGiven) => isGiven)
  return given.length > 1
    ? Effect.fail(ValidationFailed.at("query", "track", "Expected only one of split=true, join=true and track"))
    : Effect.succeed(choice)
}

const MAX_FILE_NAME = 100

/** Removes characters with a meaning in paths on Windows, macOS or Linux. */
const fileName = (name: string): string =>
  [...withoutFormat(name).replace(/[\p{Cc}\s\\/:*?"<>|]+/gu, " ").trim()].slice(0, MAX_FILE_NAME).join("").replace(
    /^\.+|[. ]+$/g,
    ""
  )
  || "route"
