import { Effect, Option, Result, Schema } from "effect"
import { createHash } from "node:crypto"
import { ValidationFailed } from "../../schema/Errors.ts"
import { Positions } from "../../schema/Geometry.ts"
import { NewRoute } from "../../schema/Route.ts"
import { detectFormat } from "../files/Detect.ts"
import type { Dropped, FileFormat } from "../files/Document.ts"
import { readRouteFile } from "../files/RouteFile.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import type { RouteDraft } from "./RouteColumns.ts"
import { type RouteLine, routeLine } from "./RouteLine.ts"

/** The body of a route without its geometry, as JSON text, and that geometry, measured. */
export interface SplitBody {
  readonly text: string
  /** None where the body has no geometry, or none that could be stored: then the text is the whole body. */
  readonly line: RouteLine | undefined
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decodeUtf8 = Option.liftThrowable((bytes: ArrayBuffer) => utf8.decode(bytes))

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isLine = Schema.is(Positions)

/** JSON text of the same value; none where a number of it, like 1e999, cannot be written again. */
const printed = Option.liftThrowable((value: unknown) =>
  JSON.stringify(value, (_, member: unknown) => {
    if (member === Infinity || member === -Infinity) throw new RangeError("not finite")
    return member
  })
)

const split = (text: string): SplitBody => {
  const body = Option.getOrUndefined(parse(text))
  if (!isRecord(body) || !isLine(body["geometry"])) return { text, line: undefined }
  const { geometry, ...rest } = body
  return Option.match(printed(rest), {
    onNone: () => ({ text, line: undefined }),
    onSome: (text) => ({ text, line: routeLine(geometry) })
  })
}

/** Takes the geometry out of the body of a route. None where the body is not UTF-8. */
export const splitRouteBody: HeavyJob<ArrayBuffer, SplitBody | undefined> = {
  name: "split route body",
  run: (bytes) => Option.getOrUndefined(Option.map(decodeUtf8(bytes), split))
}

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
  run: ({ bytes, contentType }) => {
    const text = Option.getOrUndefined(decodeUtf8(bytes))
    if (text === undefined) return refused(ValidationFailed.at("", "Expected valid UTF-8"))
    const format = detectFormat(contentType, text)
    if (format === undefined) return undefined
    const digest = createHash("sha256").update(new Uint8Array(bytes)).digest("base64url")
    return Result.match(Effect.runSync(Effect.result(fileOf(text, format, digest))), {
      onSuccess: (file) => ({ file }),
      onFailure: refused
    })
  }
}
