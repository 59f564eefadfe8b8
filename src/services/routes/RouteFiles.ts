import { Context, Effect, Layer, type Option, Schema } from "effect"
import { type NotFound, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { Positions } from "../../schema/Geometry.ts"
import type { RouteRef, UserId } from "../../schema/Ids.ts"
import { NewRoute, type StoredRoute, Waypoint } from "../../schema/Route.ts"
import { detectFormat } from "../files/Detect.ts"
import type { Dropped, FileFormat, WrittenRoute } from "../files/Document.ts"
import { readRouteFile, writeRouteFile } from "../files/RouteFile.ts"
import { Routes } from "./Routes.ts"

/** A route as a file. */
export interface ExportedFile {
  readonly name: string
  /** Made as they are asked for. */
  readonly pieces: Iterable<string>
}

/** What a file would become, and what of it would not. */
export interface ReadFile {
  readonly format: FileFormat
  readonly route: NewRoute
  readonly dropped: ReadonlyArray<Dropped>
}

/** Routes as files of other programs: GPX, GeoJSON, TCX and KML. */
export class RouteFiles extends Context.Service<RouteFiles, {
  /** A route that the viewer may see, as a file; by the rules of `Routes.get`. */
  readonly write: (
    ref: RouteRef,
    viewer: Option.Option<UserId>,
    format: FileFormat
  ) => Effect.Effect<ExportedFile, NotFound>
  /**
   * What a file says of a route. Its format is told by the content type, else by the content. `UnsupportedMediaType` when
   * it is none of ours, `ValidationFailed` when it is broken or holds no route.
   */
  readonly read: (
    contentType: string | undefined,
    text: string
  ) => Effect.Effect<ReadFile, UnsupportedMediaType | ValidationFailed>
}>()("route-planning-service/RouteFiles") {
  static readonly layer = Layer.effect(
    RouteFiles,
    Effect.map(Routes, (routes) =>
      RouteFiles.of({
        write: Effect.fn("RouteFiles.write")(function*(ref, viewer, format) {
          const route = yield* routes.get(ref, viewer, "full")
          return { name: route.name, pieces: writeRouteFile(yield* toDocument(route), format) }
        }),
        read: Effect.fn("RouteFiles.read")(function*(contentType, text) {
          const format = detectFormat(contentType, text)
          if (format === undefined) {
            return yield* new UnsupportedMediaType({ message: "Send a file of GPX, GeoJSON, TCX or KML" })
          }
          const { document, dropped } = yield* readRouteFile(text, format)
          const route = yield* Effect.mapError(
            decodeNewRoute({ ...document, provenance: "gpx-import" }),
            ({ message }) => ValidationFailed.at("", message)
          )
          return { format, route, dropped }
        })
      }))
  )
}

const decodeNewRoute = Schema.decodeUnknownEffect(NewRoute)

const decodeWaypoints = Schema.decodeEffect(Schema.fromJsonString(Schema.Array(Waypoint)))

const decodeLine = Schema.decodeEffect(Schema.fromJsonString(Positions))

/** A stored route as it is written to a file. */
export const toDocument = Effect.fnUntraced(function*(route: StoredRoute) {
  const { activity, createdAt, description, name, tags } = route
  const document: WrittenRoute = {
    name,
    ...(description === undefined ? {} : { description }),
    tags,
    ...(activity === undefined ? {} : { activity }),
    waypoints: yield* decodeWaypoints(route.waypoints),
    geometry: route.geometry === undefined ? [] : yield* decodeLine(route.geometry),
    createdAt
  }
  return document
}, Effect.orDie)
