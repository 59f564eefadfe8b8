import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import type { BoundingBox } from "../../schema/Geometry.ts"
import { type Dropped, type FileFormat, type ImportWarning, MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { NewRoute } from "../../schema/Route.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { FilesTooLarge, InvalidInput, UnknownEncoding, UnknownFormat } from "../DomainErrors.ts"
import {
  type Draft,
  draftsOf,
  type FileOrigin,
  NO_ORIGIN,
  summariesOf,
  type TrackChoice,
  type TrackSummary,
  type WrittenRoute
} from "../files/Draft.ts"
import { bounded, finish, nameOf } from "../files/Finish.ts"
import { writeFit } from "../files/FitWriter.ts"
import { type FormParts, partsOfForm } from "../files/PackedFile.ts"
import { readPacked, type Room, roomOfFile } from "../files/Upload.ts"
import { boundsOf, coordinatesOf } from "../geometry/Geodesy.ts"
import { type MeasuredPolyline, measurePositions, positionsOf, readSegments } from "../geometry/MeasuredPolyline.ts"
import type { RouteDraft } from "./RouteRow.ts"
import { readCues, readWaypoints } from "./RouteText.ts"

export interface ImportOptions extends TrackChoice {
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  readonly fileName: string | undefined
  readonly name: string | undefined
  /** A list beside the file has these facts, for what the file does not say itself. */
  readonly about?: {
    readonly description: string
    readonly activity: string
    readonly recordedAt: string | undefined
  }
}

interface GivenFile extends ImportOptions {
  readonly bytes: Uint8Array
}

interface ReadFile {
  /** The index of its track among those of the file. */
  readonly track: number
  readonly route: Omit<RouteDraft, "geometry">
  readonly line: MeasuredPolyline
  readonly distance: number
  readonly bounds: BoundingBox | undefined
  readonly warnings: ReadonlyArray<ImportWarning>
}

/** `routes` is empty for a file with several tracks and no choice between them. */
export interface ReadFiles {
  readonly format: FileFormat
  readonly tracks: ReadonlyArray<TrackSummary>
  readonly trackCount: number
  readonly routes: ReadonlyArray<ReadFile>
  readonly dropped: ReadonlyArray<Dropped>
  readonly origin: FileOrigin
  /** A file that is read again with equal options has an equal digest. */
  readonly digest: string
}

/** Each track of a file repeats what the file has beside its tracks. */
export const warningsOf = ({ routes }: ReadFiles): ReadonlyArray<ImportWarning> => [
  ...new Map(
    routes.flatMap(({ warnings }) => warnings).map((warning) => [`${warning.count} ${warning.message}`, warning])
  ).values()
]

const Refusal = Schema.Union([InvalidInput, FilesTooLarge, UnknownFormat, UnknownEncoding])

export type FileRefusal = typeof Refusal.Type

const encodeRefusal = Schema.encodeSync(Refusal)

/** `unpacked` counts the bytes that were made of the file, also of one that is refused. */
type FileOutcome =
  & { readonly unpacked: number }
  & ({ readonly read: ReadFiles } | { readonly refused: typeof Refusal.Encoded })

/** A thread returns the facts of an error, without its class. */
export const refusalOf = Schema.decodeSync(Refusal)

const decodeNewRoute = Schema.decodeUnknownEffect(NewRoute)

const routeOf = Effect.fnUntraced(function*(draft: Draft, track: number) {
  const { document, dropped, measures, warnings } = yield* finish(draft)
  const { geometry, segments = null, ...route } = document
  const decoded = yield* Effect.mapError(
    decodeNewRoute({ ...route, ...measures, provenance: "gpx-import" }),
    ({ message }) => InvalidInput.at("", message)
  )
  const line = measurePositions(geometry, segments)
  const file: ReadFile = {
    track,
    route: decoded,
    line,
    distance: measures.distance ?? line.metres ?? 0,
    bounds: boundsOf(coordinatesOf(geometry)),
    warnings
  }
  return { file, dropped }
})

const named = (draft: Draft, name: string | undefined): Draft => ({ ...draft, names: [name, ...draft.names] })

const withName = (drafts: ReadonlyArray<Draft>, name: string | undefined): ReadonlyArray<Draft> =>
  drafts.map((draft, index) => named(draft, name === undefined || drafts.length === 1 ? name : `${name} ${index + 1}`))

const withAbout = (drafts: ReadonlyArray<Draft>, about: ImportOptions["about"]): ReadonlyArray<Draft> =>
  about === undefined ? drafts : drafts.map((draft) => ({
    ...draft,
    descriptions: [...draft.descriptions, about.description],
    activity: draft.activity ?? about.activity,
    recordedAt: draft.recordedAt ?? about.recordedAt
  }))

const readAll = Effect.fnUntraced(function*({ bytes, ...options }: GivenFile, room: Room) {
  const digest = fileDigest(bytes, options)
  const { about, contentEncoding, contentType, fileName } = options
  const packed = { name: fileName, contentType, bytes }
  const { draft, format, name: field } = yield* readPacked(packed, contentEncoding, room)
  const name = options.name ?? field
  const drafts = yield* draftsOf(draft, options)
  const routes = yield* Effect.forEach(
    withAbout(withName(drafts, name), about),
    (draft, index) => routeOf(draft, options.track ?? index)
  )
  const read: ReadFiles = {
    format,
    tracks: summariesOf(draft, (track) => nameOf({ names: [...track.names, ...draft.names] })),
    trackCount: draft.tracks.length,
    routes: routes.map(({ file }) => file),
    dropped: routes.length === 1 ? routes[0]?.dropped ?? [] : bounded(draft.dropped),
    origin: draft.origin ?? NO_ORIGIN,
    digest
  }
  return read
})

const fileDigest = (bytes: Uint8Array, options: ImportOptions) =>
  createHash("sha256").update(bytes).update(JSON.stringify(options)).digest("base64url")

export const readFile = new HeavyJob<GivenFile, FileOutcome>(import.meta.url, {
  name: "read file",
  share: "files",
  run: (given) => {
    const room = roomOfFile()
    const unpacked = () => MAX_UNPACKED_BYTES - room.bytes
    return Effect.runPromise(Effect.match(readAll(given, room), {
      onSuccess: (read): FileOutcome => ({ read, unpacked: unpacked() }),
      onFailure: (refusal): FileOutcome => ({ refused: encodeRefusal(refusal), unpacked: unpacked() })
    }))
  }
})

interface GivenForm {
  readonly bytes: ArrayBuffer
  readonly contentType: string
}

type FormOutcome = { readonly parts: FormParts } | { readonly refused: typeof Refusal.Encoded }

export const readForm = new HeavyJob<GivenForm, FormOutcome>(import.meta.url, {
  name: "read form",
  share: "files",
  run: ({ bytes, contentType }) =>
    Effect.runPromise(Effect.match(partsOfForm(new Uint8Array(bytes), contentType), {
      onSuccess: (parts): FormOutcome => ({ parts }),
      onFailure: (error): FormOutcome => ({ refused: encodeRefusal(error) })
    }))
})

/** Each format has a place for these members of a route, as they are. */
export const IN_EVERY_FILE = [
  "name",
  "activity",
  "distance",
  "duration",
  "elevationGain",
  "recordedAt",
  "createdAt"
] as const

interface WrittenFile {
  readonly route: Pick<WrittenRoute, typeof IN_EVERY_FILE[number]>
  readonly geometry: string
  readonly segments: string
  readonly waypoints: string
  readonly cues: string
}

export const writeFitFile = new HeavyJob<WrittenFile, Uint8Array>(import.meta.url, {
  name: "write FIT",
  share: "files",
  run: ({ cues, geometry, route, segments, waypoints }) =>
    writeFit({
      ...route,
      tags: [],
      geometry: positionsOf(geometry),
      segments: readSegments(segments),
      waypoints: readWaypoints(waypoints),
      cues: readCues(cues)
    })
})
