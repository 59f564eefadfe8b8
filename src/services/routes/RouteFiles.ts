import { Context, Effect, Layer, type Option, type Scope, Struct } from "effect"
import type { RouteRef, UserId } from "../../schema/Ids.ts"
import type { FileFormat, GpxForm } from "../../schema/Import.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { HeavyWork, INLINE_BYTES } from "../admission/HeavyWork.ts"
import { textOf } from "../bodies/JsonText.ts"
import { DownloadRefused, type Missing, type Overloaded, type SpoolFull } from "../DomainErrors.ts"
import type { WrittenRoute } from "../files/Draft.ts"
import { type FormParts, isPacked } from "../files/PackedFile.ts"
import { writeRouteFile } from "../files/RouteFile.ts"
import { Spool, type SpooledFile } from "../files/Spool.ts"
import { readSegments } from "../geometry/MeasuredPolyline.ts"
import { CountsUses } from "../sharing/LinkUses.ts"
import {
  type FileRefusal,
  type ImportOptions,
  IN_EVERY_FILE,
  readFile,
  type ReadFiles,
  readForm,
  refusalOf,
  writeFitFile
} from "./FileJobs.ts"
import { Routes } from "./Routes.ts"
import { readCues, readLine, readWaypoints } from "./RouteText.ts"

export class RouteFiles extends Context.Service<RouteFiles, {
  /** Finds a route by the rules of `Routes.get`. */
  readonly find: (
    ref: RouteRef,
    viewer: Option.Option<UserId>
  ) => Effect.Effect<StoredRoute, DownloadRefused | Missing | Overloaded>
  /** The file is on disk until the scope closes. Fails with `Overloaded` if the disk has no room. */
  readonly write: (
    route: StoredRoute,
    format: FileFormat,
    form?: GpxForm
  ) => Effect.Effect<SpooledFile, SpoolFull | Overloaded, Scope.Scope>
  /**
   * Reads a file, a form or an archive, whose format the content type or the content shows. Fails with `FilesTooLarge`
   * when too much is unpacked, with `InvalidInput` for a malformed file or one without routes, with `Overloaded` under
   * load. The bytes may be transferred to a thread.
   */
  readonly read: (
    bytes: ArrayBuffer,
    options: ImportOptions
  ) => Effect.Effect<ReadFiles, FileRefusal | Overloaded>
  /** Reads the fields and files of a multipart form. The bytes may be transferred to a thread. */
  readonly parts: (bytes: ArrayBuffer, contentType: string) => Effect.Effect<FormParts, FileRefusal | Overloaded>
}>()("route-planning-service/RouteFiles") {
  static readonly layer = Layer.effect(
    RouteFiles,
    Effect.gen(function*() {
      const heavy = yield* HeavyWork
      const routes = yield* Routes
      const spool = yield* Spool

      /** FIT is written in a thread: its encoder takes 6 us for each field. */
      const fitOf = (route: StoredRoute) => {
        const { cues, geometry, segments, waypoints } = route
        const written = {
          route: Struct.pick(route, IN_EVERY_FILE),
          geometry: textOf(geometry ?? "[]"),
          segments: segments ?? "[]",
          waypoints,
          cues: cues ?? "[]"
        }
        return heavy.run(
          writeFitFile,
          written,
          FIT_WEIGHT * (written.geometry.length + waypoints.length + written.cues.length)
        )
      }

      return RouteFiles.of({
        find: Effect.fnUntraced(function*(ref, viewer) {
          const route = yield* Effect.provideService(routes.get(ref, viewer, "full"), CountsUses, "files")
          return route.allowDownload === false ? yield* new DownloadRefused() : route
        }),
        write: Effect.fnUntraced(function*(route, format, form) {
          const pieces = format === "fit"
            ? [yield* fitOf(route)]
            : writeRouteFile(yield* toDocument(route), format, form)
          return yield* spool.take(pieces)
        }),
        read: Effect.fnUntraced(function*(body, options) {
          const bytes = new Uint8Array(body)
          const weight = isPacked(bytes, options.contentType) ? INLINE_BYTES + bytes.length : bytes.length
          const outcome = yield* heavy.run(readFile, { ...options, bytes }, weight, [body])
          return "read" in outcome ? outcome.read : yield* refusalOf(outcome.refused)
        }),
        parts: Effect.fnUntraced(function*(bytes, contentType) {
          const outcome = yield* heavy.run(readForm, { bytes, contentType }, bytes.byteLength, [bytes])
          return "parts" in outcome ? outcome.parts : yield* refusalOf(outcome.refused)
        })
      })
    })
  )
}

/** Writing FIT takes this many times longer than parsing the stored text. */
const FIT_WEIGHT = 8

export const toDocument = Effect.fnUntraced(function*(route: StoredRoute) {
  const document: WrittenRoute = {
    ...Struct.pick(route, [...IN_EVERY_FILE, "description", "tags"]),
    waypoints: readWaypoints(route.waypoints),
    geometry: route.geometry === undefined ? [] : yield* readLine(textOf(route.geometry)),
    ...(route.segments === undefined ? {} : { segments: readSegments(route.segments) }),
    ...(route.cues === undefined ? {} : { cues: readCues(route.cues) })
  }
  return document
}, Effect.orDie)
