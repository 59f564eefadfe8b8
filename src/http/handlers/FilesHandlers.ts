import { create, parse } from "content-disposition"
import { Array as Arr, Context, Effect, Option } from "effect"
import { type Headers, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ValidationFailed } from "../../schema/Errors.ts"
import type { RouteRef } from "../../schema/Ids.ts"
import type { FileFormat } from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { withoutFormat } from "../../schema/Text.ts"
import { Lanes } from "../../services/admission/Lanes.ts"
import type { TrackChoice } from "../../services/files/Draft.ts"
import { FILE_ENCODINGS } from "../../services/files/PackedFile.ts"
import { Places } from "../../services/places/Places.ts"
import type { ReadFiles } from "../../services/routes/FileJobs.ts"
import { RouteDuplicates } from "../../services/routes/RouteDuplicates.ts"
import { RouteFiles } from "../../services/routes/RouteFiles.ts"
import { Routes } from "../../services/routes/Routes.ts"
import { Api } from "../api/Api.ts"
import { Caller, Viewer } from "../api/Authentication.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyLimit } from "../api/Requests.ts"
import { Idempotency } from "../request/Idempotency.ts"
import { RequestBodies } from "../request/RequestBodies.ts"
import { Downloads } from "../response/Downloads.ts"
import { dryRunResponse, importedResponse, requireChosen } from "../response/ImportResponse.ts"
import { worded } from "../response/PublicErrors.ts"
import { fileTag, makeVersionedRoute } from "../response/RouteJson.ts"
import { isKnown, notModified } from "../response/Versioned.ts"
import { makeWithElevations } from "./RouteDefaults.ts"

interface Download {
  readonly params: { readonly ref: RouteRef }
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
      Effect.fnUntraced(function*({ params, request }: Download) {
        const viewer = Option.map(yield* Viewer, ({ userId }) => userId)
        yield* downloads.admit
        return yield* lanes.downloads(Effect.gen(function*() {
          const route = yield* files.find(params.ref, viewer)
          const etag = fileTag(route, format)
          if (isKnown(request.headers[HEADERS.ifNoneMatch.key], etag)) return notModified(etag)
          const { bytes, size } = yield* files.write(route, format)
          return HttpServerResponse.stream(bytes, {
            contentType: MEDIA_TYPES[format],
            contentLength: size,
            headers: {
              [HEADERS.contentDisposition.key]: create(`${fileName(route.name)}.${format}`),
              [HEADERS.etag.key]: etag
            }
          })
        }))
      }, worded)

    return handlers
      // Raw: the framework accepts only the declared content type.
      .handleRaw(
        "import",
        Effect.fnUntraced(function*({ endpoint, headers, query, request }) {
          const { userId } = yield* Caller
          const choice = yield* choiceOf(query)
          const bytes = yield* bodies.read(request, Context.get(endpoint.annotations, BodyLimit), FILE_ENCODINGS)
          const read = yield* files.read(bytes, { ...choice, ...headersOf(request.headers), name: query.name })
          const isElevated = query.elevation === "true" && query.dryRun !== "true"
          const file = isElevated ? yield* elevated(read) : read
          const drafts = file.routes.map(({ line, route }) => ({ ...route, geometry: line }))
          if (query.dryRun === "true") {
            return yield* withPlaces(dryRunResponse(file, yield* duplicates.find(userId, drafts)))
          }
          yield* withPlaces(requireChosen(file))
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

const parsedDisposition = Option.liftThrowable((header: string) => parse(header))

const headersOf = (headers: Headers.Headers) => ({
  contentType: headers["content-type"],
  contentEncoding: headers["content-encoding"],
  fileName: Option.fromNullishOr(headers[HEADERS.contentDisposition.key]).pipe(
    Option.flatMap(parsedDisposition),
    Option.map(({ parameters }) => parameters["filename"]),
    Option.getOrUndefined
  )
})

const choiceOf = ({ join, split, track }: {
  readonly join?: "true" | "false"
  readonly split?: "true" | "false"
  readonly track?: number
}): Effect.Effect<TrackChoice, ValidationFailed> => {
  const choice = { split: split === "true", join: join === "true", track }
  const given = [choice.split, choice.join, track !== undefined].filter((isGiven) => isGiven)
  return given.length > 1
    ? Effect.fail(ValidationFailed.at("track", "Expected only one of split=true, join=true and track"))
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
