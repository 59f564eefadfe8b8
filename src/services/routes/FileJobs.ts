import { Effect, Option, Result, Schema } from "effect"
import { createHash } from "node:crypto"
import { ValidationFailed } from "../../schema/Errors.ts"
import { NewRoute } from "../../schema/Route.ts"
import { draftsOf, summariesOf, type TrackChoice, type TrackSummary } from "../files/Choice.ts"
import { detectFormat } from "../files/Detect.ts"
import type { Draft, Dropped, FileFormat, ImportWarning } from "../files/Document.ts"
import { finish, nameOf } from "../files/Finish.ts"
import { readRouteFile } from "../files/RouteFile.ts"
import type { HeavyJob } from "../heavy/HeavyWork.ts"
import { decodeUtf8 } from "../json/BoundedJson.ts"
import { coordinatesOf } from "./Coordinates.ts"
import { type Bounds, boundsOf } from "./Lines.ts"
import type { RouteDraft } from "./RouteColumns.ts"
import { type RouteLine, routeLine } from "./RouteLine.ts"

/** What its sender says of a file, and wants of it. */
export interface ImportOptions extends TrackChoice {
  readonly contentType: string | undefined
  readonly name: string | undefined
}

/** A file as it came. */
interface GivenFile extends ImportOptions {
  readonly bytes: ArrayBuffer
}

/** A route that a file would become. */
export interface ReadFile {
  readonly route: Omit<RouteDraft, "geometry">
  readonly line: RouteLine
  readonly distance: number
  readonly bounds: Bounds | undefined
  readonly warnings: ReadonlyArray<ImportWarning>
}

/** A file that was read. It becomes no route where it has several tracks and nothing says what to do with them. */
export interface ReadFiles {
  readonly format: FileFormat
  readonly tracks: ReadonlyArray<TrackSummary>
  readonly trackCount: number
  readonly routes: ReadonlyArray<ReadFile>
  readonly dropped: ReadonlyArray<Dropped>
  /** By which the same file with the same options is known. */
  readonly digest: string
}

/** A file that was read, why it was not, or none where its format is unknown. */
type FileOutcome =
  | { readonly read: ReadFiles }
  | { readonly refused: Pick<ValidationFailed, "message" | "details"> }
  | undefined

const decodeNewRoute = Schema.decodeUnknownEffect(NewRoute)

const routeOf = Effect.fnUntraced(function*(draft: Draft) {
  const { document, dropped, measures, warnings } = yield* finish(draft)
  const { geometry = [], ...route } = document
  const decoded = yield* Effect.mapError(
    decodeNewRoute({ ...route, ...measures, provenance: "gpx-import" }),
    ({ message }) => ValidationFailed.at("", message)
  )
  const line = routeLine(geometry)
  const file: ReadFile = {
    route: decoded,
    line,
    distance: measures.distance ?? line.metres ?? 0,
    bounds: boundsOf(coordinatesOf(geometry)),
    warnings
  }
  return { file, dropped }
})

const named = (draft: Draft, name: string | undefined): Draft => ({ ...draft, names: [name, ...draft.names] })

/** A name that the sender gives is the first of all; several routes have their number behind it. */
const withName = (drafts: ReadonlyArray<Draft>, name: string | undefined): ReadonlyArray<Draft> =>
  drafts.map((draft, index) => named(draft, name === undefined || drafts.length === 1 ? name : `${name} ${index + 1}`))

const readAll = Effect.fnUntraced(function*(text: string, format: FileFormat, digest: string, options: ImportOptions) {
  const draft = yield* readRouteFile(text, format)
  const drafts = yield* draftsOf(draft, options)
  const routes = yield* Effect.forEach(withName(drafts, options.name), routeOf)
  const read: ReadFiles = {
    format,
    tracks: summariesOf(draft, (track) => nameOf({ names: [...track.names, ...draft.names] })),
    trackCount: draft.tracks.length,
    routes: routes.map(({ file }) => file),
    dropped: routes[0]?.dropped ?? draft.dropped,
    digest
  }
  return read
})

const refused = ({ details, message }: ValidationFailed): FileOutcome => ({
  refused: { message, ...(details === undefined ? {} : { details }) }
})

const digestOf = (bytes: ArrayBuffer, options: ImportOptions) =>
  createHash("sha256").update(new Uint8Array(bytes)).update(JSON.stringify(options)).digest("base64url")

/** Reads a file of one route or several. */
export const readFile: HeavyJob<GivenFile, FileOutcome> = {
  name: "read file",
  share: "files",
  run: ({ bytes, ...options }) => {
    const text = Option.getOrUndefined(decodeUtf8(bytes))
    if (text === undefined) return refused(ValidationFailed.at("", "Expected valid UTF-8"))
    const format = detectFormat(options.contentType, text)
    if (format === undefined) return undefined
    const digest = digestOf(bytes, options)
    return Result.match(Effect.runSync(Effect.result(readAll(text, format, digest, options))), {
      onSuccess: (read) => ({ read }),
      onFailure: refused
    })
  }
}
