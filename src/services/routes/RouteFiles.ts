import { Context, Effect, Layer, type Option, Schema } from "effect"
import { type NotFound, type Unavailable, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { Positions } from "../../schema/Geometry.ts"
import type { RouteRef, UserId } from "../../schema/Ids.ts"
import { type StoredRoute, Waypoint } from "../../schema/Route.ts"
import type { FileFormat, WrittenRoute } from "../files/Document.ts"
import { writeRouteFile } from "../files/RouteFile.ts"
import { HeavyWork } from "../heavy/HeavyWork.ts"
import { type ReadFile, readFile } from "./RouteJobs.ts"
import { Routes } from "./Routes.ts"

/** A route as a file. */
export interface ExportedFile {
  readonly name: string
  /** Made as they are asked for. */
  readonly pieces: Iterable<string>
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
   * it is none of ours, `ValidationFailed` when it is broken or holds no route, `Unavailable` when too many are read. The
   * bytes may be gone afterwards.
   */
  readonly read: (
    contentType: string | undefined,
    bytes: ArrayBuffer
  ) => Effect.Effect<ReadFile, Unavailable | UnsupportedMediaType | ValidationFailed>
}>()("route-planning-service/RouteFiles") {
  static readonly layer = Layer.effect(
    RouteFiles,
    Effect.gen(function*() {
      const heavy = yield* HeavyWork
      const routes = yield* Routes

      return RouteFiles.of({
        write: Effect.fn("RouteFiles.write")(function*(ref, viewer, format) {
          const route = yield* routes.get(ref, viewer, "full")
          return { name: route.name, pieces: writeRouteFile(yield* toDocument(route), format) }
        }),
        read: Effect.fn("RouteFiles.read")(function*(contentType, bytes) {
          const outcome = yield* heavy.run(readFile, { contentType, bytes }, bytes.byteLength, [bytes])
          if (outcome === undefined) {
            return yield* new UnsupportedMediaType({ message: "Send a file of GPX, GeoJSON, TCX or KML" })
          }
          return "file" in outcome ? outcome.file : yield* new ValidationFailed(outcome.refused)
        })
      })
    })
  )
}

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
