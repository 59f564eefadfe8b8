import { Effect, Option, Result, Schema } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import { NewRoute, RoutePatch } from "../../schema/Route.ts"
import { detectFormat } from "../files/Detect.ts"
import type { Dropped, FileFormat } from "../files/Document.ts"
import { readRouteFile } from "../files/RouteFile.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeBounded, decodeUtf8 } from "../json/BoundedJson.ts"
import { digestOf, longBodyJob } from "../json/LongBody.ts"
import { readerWithLine, type WithLine } from "./GeometryReader.ts"
import type { RouteDraft } from "./RouteColumns.ts"
import { type RouteLine, routeLine } from "./RouteLine.ts"

/** What the body of a route has beside its text. */
interface RouteParts {
  readonly line?: RouteLine
}

/** Null clears the geometry of a route: it stays in the text. */
const split = (
  { line, rest }: WithLine<NewRoute | RoutePatch>
): { readonly rest: unknown; readonly parts: RouteParts } =>
  line === undefined || line === null
    ? { rest: { ...rest, geometry: line }, parts: {} }
    : { rest, parts: { line } }

const newRoute = readerWithLine(decodeBounded(NewRoute))

/** Takes the geometry out of the body of a new route, and measures it. */
export const readNewRoute = longBodyJob("read new route", (text) => Result.map(newRoute(text), split))

const routePatch = readerWithLine(decodeBounded(RoutePatch))

/** The same for the change of a route. */
export const readRoutePatch = longBodyJob("read route patch", (text) => Result.map(routePatch(text), split))

/** A file as it came. */
interface GivenFile {
  readonly contentType: string | undefined
  readonly bytes: ArrayBuffer
}

/** What a file would become, and what of it would not. */
export interface ReadFile {
  readonly format: FileFormat
  readonly route: Omit<RouteDraft, "geometry">
  readonly line: RouteLine
  readonly dropped: ReadonlyArray<Dropped>
  /** By which the same file is known. */
  readonly digest: string
}

/** A file that was read, why it was not, or none where its format is unknown. */
type FileOutcome =
  | { readonly file: ReadFile }
  | { readonly refused: Pick<ValidationFailed, "message" | "details"> }
  | undefined

const decodeNewRoute = Schema.decodeUnknownEffect(NewRoute)

const fileOf = Effect.fnUntraced(function*(text: string, format: FileFormat, digest: string) {
  const { document, dropped } = yield* readRouteFile(text, format)
  const { geometry, ...route } = yield* Effect.mapError(
    decodeNewRoute({ ...document, provenance: "gpx-import" }),
    ({ message }) => ValidationFailed.at("", message)
  )
  const file: ReadFile = { format, route, line: routeLine(geometry ?? []), dropped, digest }
  return file
})

const refused = ({ details, message }: ValidationFailed): FileOutcome => ({
  refused: { message, ...(details === undefined ? {} : { details }) }
})

/** Reads a file of a route. */
export const readFile: HeavyJob<GivenFile, FileOutcome> = {
  name: "read file",
  share: "files",
  run: ({ bytes, contentType }) => {
    const text = Option.getOrUndefined(decodeUtf8(bytes))
    if (text === undefined) return refused(ValidationFailed.at("", "Expected valid UTF-8"))
    const format = detectFormat(contentType, text)
    if (format === undefined) return undefined
    const digest = digestOf(bytes)
    return Result.match(Effect.runSync(Effect.result(fileOf(text, format, digest))), {
      onSuccess: (file) => ({ file }),
      onFailure: refused
    })
  }
}
