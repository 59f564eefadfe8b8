import { Effect } from "effect"
import { type Dropped, type FileFormat, MAX_FILES } from "../../schema/Import.ts"
import { InvalidInput, UnknownFormat } from "../DomainErrors.ts"
import { separate } from "./Choice.ts"
import { detectFormat } from "./Detect.ts"
import { type DraftFile, type DraftTrack, droppedIf, NOTHING_SAID } from "./draft/Document.ts"
import { isFit, type PackedFile, stemOf } from "./draft/PackedFile.ts"
import { decodedText } from "./Encodings.ts"
import { readFit } from "./formats/Fit.ts"
import { readRouteFile } from "./RouteFile.ts"
import { unpackedFiles } from "./Unpack.ts"

interface NamedDraft {
  readonly name: string | undefined
  readonly format: FileFormat
  readonly draft: DraftFile
}

const inFile = (name: string) => ({ issues }: InvalidInput) =>
  new InvalidInput({
    issues: issues.map(({ message, path }) => ({ path: name, message: path === "" ? message : `${path}: ${message}` }))
  })

/** So that a picture is reported as no route, not as text in a wrong encoding. */
const isUnknown = ({ bytes, contentType }: PackedFile) =>
  detectFormat(contentType, new TextDecoder().decode(bytes)) === undefined

const readOne = Effect.fnUntraced(function*(file: PackedFile) {
  const { bytes, contentType, name } = file
  if (isFit(bytes)) {
    const read: NamedDraft = { name, format: "fit", draft: yield* readFit(bytes) }
    return read
  }
  const text = yield* Effect.catchTag(
    decodedText(bytes, contentType),
    "InvalidInput",
    (error) => isUnknown(file) ? Effect.undefined : Effect.fail(error)
  )
  const format = text === undefined ? undefined : detectFormat(contentType, text)
  if (text === undefined || format === undefined) return undefined
  const read: NamedDraft = { name, format, draft: yield* readRouteFile(text, format) }
  return read
})

const readNamed = (file: PackedFile) =>
  Effect.mapError(
    readOne(file),
    (error) => error._tag === "InvalidInput" && file.name !== undefined ? inFile(file.name)(error) : error
  )

const noLine = ({ activity, descriptions, names, tags }: DraftFile): DraftTrack => ({
  names,
  descriptions,
  tags,
  activity,
  waypoints: [],
  segments: [],
  seconds: undefined
})

const tracksOf = ({ draft, name }: NamedDraft): ReadonlyArray<DraftTrack> => {
  const withTrack = draft.tracks.length === 0 ? { ...draft, tracks: [noLine(draft)] } : draft
  const nameOf = (track: DraftTrack): DraftTrack => ({
    ...track,
    names: [...track.names, stemOf(name)],
    file: name
  })
  return separate(withTrack).map(nameOf)
}

const sum = (dropped: ReadonlyArray<Dropped>): ReadonlyArray<Dropped> =>
  [...Map.groupBy(dropped, ({ what, why }) => `${what}: ${why}`).values()].flatMap((same) => {
    const [first] = same
    return first === undefined ? [] : [{ ...first, count: same.reduce((total, { count }) => total + count, 0) }]
  })

const droppedOf = (files: ReadonlyArray<NamedDraft>, unreadFiles: number): ReadonlyArray<Dropped> =>
  sum([
    ...files.flatMap(({ draft }) => draft.dropped),
    ...droppedIf(unreadFiles, "files", "their formats are not read")
  ])

const merged = (files: ReadonlyArray<NamedDraft>): Omit<DraftFile, "dropped"> => ({
  ...NOTHING_SAID,
  tracks: files.flatMap(tracksOf)
})

const alone = ({ draft, name }: NamedDraft): Omit<DraftFile, "dropped"> => {
  const named = (track: DraftTrack): DraftTrack => ({ ...track, names: [...track.names, stemOf(name)] })
  return draft.tracks.length === 0
    ? { ...draft, names: [...draft.names, stemOf(name)] }
    : { ...draft, tracks: draft.tracks.map(named) }
}

/** Skips and counts files of unknown formats; `UnknownFormat` where no format is known. */
export const readPacked = Effect.fnUntraced(function*(given: PackedFile, contentEncoding: string | undefined) {
  const files = yield* unpackedFiles(given, contentEncoding)
  if (files.length > MAX_FILES) return yield* InvalidInput.at("", `Expected at most ${MAX_FILES} files`)
  const read = yield* Effect.forEach(files, files[0]?.name === given.name ? readOne : readNamed)
  const known = read.filter((file) => file !== undefined)
  const [first, second] = known
  if (first === undefined) return yield* new UnknownFormat()
  const draft: DraftFile = {
    ...(second === undefined ? alone(first) : merged(known)),
    dropped: droppedOf(known, files.length - known.length)
  }
  return { format: first.format, draft }
})
