import { Context, Effect, Layer, type Option, Schema, type Scope } from "effect"
import {
  type NotFound,
  PayloadTooLarge,
  type Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { type Position, Positions } from "../../schema/Geometry.ts"
import type { RouteRef, UserId } from "../../schema/Ids.ts"
import type { FileFormat } from "../../schema/Import.ts"
import { type StoredRoute, Waypoint } from "../../schema/Route.ts"
import type { WrittenRoute } from "../files/Document.ts"
import { isPacked } from "../files/PackedFile.ts"
import { writeRouteFile } from "../files/RouteFile.ts"
import { HeavyWork, INLINE_BYTES } from "../heavy/HeavyWork.ts"
import { Spool, type SpooledFile } from "../spool/Spool.ts"
import { type ImportOptions, readFile, type ReadFiles, writeFitFile } from "./FileJobs.ts"
import { Routes } from "./Routes.ts"

/** A route as a file that is ready to be sent. `name` is the route's. */
export interface ExportedFile extends SpooledFile {
  readonly name: string
}

/** Routes as files of other programs: GPX, GeoJSON, TCX, KML and FIT. */
export class RouteFiles extends Context.Service<RouteFiles, {
  /**
   * A route that the viewer may see, as a file; by the rules of `Routes.get`. Nothing of the route stays in memory while
   * the file is sent: it is on the disk until the scope closes. `Unavailable` where the disk has no room.
   */
  readonly write: (
    ref: RouteRef,
    viewer: Option.Option<UserId>,
    format: FileFormat
  ) => Effect.Effect<ExportedFile, NotFound | Unavailable, Scope.Scope>
  /**
   * The routes that a file becomes, or several of a form or an archive. The content type decides on the format, else
   * the content. `UnsupportedMediaType` when no format in it is read, `PayloadTooLarge` when a file of it, or all
   * together, unpack to too much, `ValidationFailed` when it is malformed or has no route, `Unavailable` when too many
   * are read. The bytes may be transferred to a thread.
   */
  readonly read: (
    bytes: ArrayBuffer,
    options: ImportOptions
  ) => Effect.Effect<ReadFiles, PayloadTooLarge | Unavailable | UnsupportedMediaType | ValidationFailed>
}>()("route-planning-service/RouteFiles") {
  static readonly layer = Layer.effect(
    RouteFiles,
    Effect.gen(function*() {
      const heavy = yield* HeavyWork
      const routes = yield* Routes
      const spool = yield* Spool

      /** Its encoder takes 6 us for a field: in a thread, of the texts as they are stored. */
      const fitOf = ({ activity, createdAt, duration, geometry, name, waypoints }: StoredRoute) => {
        const written = {
          route: {
            name,
            createdAt,
            ...(activity === undefined ? {} : { activity }),
            ...(duration === undefined ? {} : { duration })
          },
          geometry: geometry ?? "[]",
          waypoints
        }
        return heavy.run(writeFitFile, written, FIT_WEIGHT * (written.geometry.length + waypoints.length))
      }

      return RouteFiles.of({
        write: Effect.fn("RouteFiles.write")(function*(ref, viewer, format) {
          const route = yield* routes.get(ref, viewer, "full")
          const pieces = format === "fit" ? [yield* fitOf(route)] : writeRouteFile(yield* toDocument(route), format)
          return { name: route.name, ...yield* spool.take(pieces) }
        }),
        read: Effect.fn("RouteFiles.read")(function*(bytes, options) {
          const isLong = isPacked(new Uint8Array(bytes), options.contentType)
          const weight = isLong ? INLINE_BYTES + bytes.byteLength : bytes.byteLength
          const outcome = yield* heavy.run(readFile, { ...options, bytes }, weight, [bytes])
          return "read" in outcome ? outcome.read : yield* new REFUSALS[outcome.kind](outcome.refused)
        })
      })
    })
  )
}

/** How many times longer writing FIT takes than parsing the stored text. */
const FIT_WEIGHT = 8

const REFUSALS = { PayloadTooLarge, UnsupportedMediaType, ValidationFailed }

const decodeWaypoints = Schema.decodeEffect(Schema.fromJsonString(Schema.Array(Waypoint)))

const decodePositions = Schema.decodeEffect(Schema.fromJsonString(Positions))

/** 64 KiB are parsed in about a millisecond. */
const PIECE_LENGTH = 65_536

/** The text of an array of positions as arrays that are short enough to be parsed at once; any other text as it is. */
function* piecesOf(text: string): Generator<string> {
  const end = text.length - 1
  if (!text.startsWith("[[") || !text.endsWith("]]")) return yield text
  for (let start = 1; start < end;) {
    const next = text.indexOf("],[", start + PIECE_LENGTH)
    const last = next === -1 ? end : next + 1
    yield `[${text.slice(start, last)}]`
    start = last + 1
  }
}

/** The positions of a stored line, parsed in pieces between which the event loop is free: all of 8 MiB would take 100 ms. */
export const decodeLine = Effect.fnUntraced(function*(text: string) {
  const line: Array<Position> = []
  for (const piece of piecesOf(text)) {
    for (const position of yield* decodePositions(piece)) line.push(position)
    yield* Effect.yieldNow
  }
  return line
})

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
