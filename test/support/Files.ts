import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { FILE_FORMATS } from "../../src/schema/Import.ts"
import {
  draftsOf,
  type RouteDocument,
  type TextFormat,
  type TrackChoice,
  type WrittenRoute
} from "../../src/services/files/Draft.ts"
import { finish } from "../../src/services/files/Finish.ts"
import { readRouteFile, writeRouteFile } from "../../src/services/files/RouteFile.ts"
import { readPacked } from "../../src/services/files/Upload.ts"
import { coordinatesOf, lineMetres } from "../../src/services/geometry/Geodesy.ts"

export const FORMATS = FILE_FORMATS.filter((format) => format !== "fit")

export const written = (route: WrittenRoute, format: TextFormat) => [...writeRouteFile(route, format)].join("")

const routesOf = Effect.fnUntraced(function*(text: string, format: TextFormat, choice: Partial<TrackChoice>) {
  const file = yield* readRouteFile([text], format)
  const drafts = yield* draftsOf(file, { split: false, join: false, track: undefined, ...choice })
  return yield* Effect.forEach(drafts, finish)
})

export const readAll = (text: string, format: TextFormat = "gpx", choice: Partial<TrackChoice> = {}) =>
  Effect.runSync(routesOf(text, format, choice))

export const read = (text: string, format: TextFormat = "gpx", choice: Partial<TrackChoice> = {}) => {
  const [route] = readAll(text, format, choice)
  return route ?? assert.fail("the file has several tracks")
}

export const joined = (text: string, format: TextFormat = "gpx") => read(text, format, { join: true })

/** Returns what a file was read as, and which parts were dropped. */
export const understood = (text: string, format: TextFormat = "gpx") => {
  const { document, dropped } = read(text, format)
  return { document, dropped }
}

export const refusal = (text: string, format: TextFormat = "gpx"): string => {
  const result = Effect.runSync(Effect.result(routesOf(text, format, { join: true })))
  return Result.isFailure(result) ? result.failure.message : "accepted"
}

export const gpx = (
  inner: string,
  attributes = "xmlns=\"http://www.topografix.com/GPX/1/1\" version=\"1.1\" creator=\"x\""
) => `<?xml version="1.0" encoding="UTF-8"?>\n<gpx ${attributes}>${inner}</gpx>`

export const trk = (...points: ReadonlyArray<string>) => `<trk><trkseg>${points.join("")}</trkseg></trk>`

export const metresOf = ({ geometry, segments }: Pick<RouteDocument, "geometry" | "segments">): number =>
  lineMetres(coordinatesOf(geometry), segments)

/** Returns the routes of a file of any format, packed or not, one for each track. */
export const packedRoutes = Effect.fnUntraced(function*(bytes: Uint8Array, contentType?: string) {
  const { draft } = yield* readPacked({ name: undefined, contentType, bytes }, undefined)
  return yield* Effect.forEach(yield* draftsOf(draft, { split: true, join: false, track: undefined }), finish)
})
