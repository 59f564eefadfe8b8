import { Effect, Option } from "effect"
import { isUtf8 } from "node:buffer"
import { buffer } from "node:stream/consumers"
import { gunzipSync } from "node:zlib"
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl"
import { type Dropped, type FileFormat, ImportQuery, MAX_FILES, MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import { FilesTooLarge, InvalidInput, UnknownEncoding, UnknownFormat } from "../DomainErrors.ts"
import {
  type DraftFile,
  type DraftTrack,
  lostBetween,
  NO_POSITIONS,
  noPoints,
  NOTHING_SAID,
  separate,
  type TextFormat,
  titleOf
} from "./Draft.ts"
import { NOT_RECORDED } from "./FileValues.ts"
import { readFit } from "./Fit.ts"
import {
  entryName,
  FILE_ENCODINGS,
  type FormParts,
  isFit,
  isForm,
  isGzip,
  isNoFile,
  isOfAccount,
  isZip,
  LEADS_OUT,
  leadsOut,
  type PackedFile,
  partsOfForm,
  stemOf
} from "./PackedFile.ts"
import { readRouteFile } from "./RouteFile.ts"
import { piecesOfBytes, UTF_8 } from "./Xml.ts"

export interface Room {
  bytes: number
  files: number
}

export const roomOfFile = (): Room => ({ bytes: MAX_UNPACKED_BYTES, files: MAX_FILES })

const tooLarge = (limitBytes: number) => new FilesTooLarge({ limitBytes })

const take = (room: Room, bytes: number) =>
  Effect.suspend(() => {
    room.bytes -= bytes
    return room.bytes < 0 ? Effect.fail(tooLarge(MAX_UNPACKED_BYTES)) : Effect.void
  })

export const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"

/** Unpacks no more than the limit, whatever the ratio. */
const gunzipped = (bytes: Uint8Array) =>
  Effect.try({
    try: (): Uint8Array => gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES }),
    catch: (error) => isTooLarge(error) ? tooLarge(MAX_UNPACKED_BYTES) : InvalidInput.at("", "Malformed gzip")
  })

const reasonOf = (error: unknown) => error instanceof Error ? error.message : "it is broken"

export const brokenArchive = (error: unknown) => InvalidInput.at("", `The archive cannot be read: ${reasonOf(error)}`)

export const brokenFile = (name: string, error: unknown) =>
  InvalidInput.at(name, `The file cannot be read: ${reasonOf(error)}`)

const AS_ACCOUNT = "import it with POST /users/me/import, on the page \"Export and import\""

const entriesOf = async (zip: ZipFile, room: Room) => {
  const entries: Array<Entry> = []
  for await (const entry of zip.eachEntry()) {
    if (isNoFile(entryName(entry))) continue
    if (room.files === 0) throw new Error(`it has more than ${MAX_FILES} files: ${AS_ACCOUNT}`)
    room.files -= 1
    entries.push(entry)
  }
  if (isOfAccount(entries.map(entryName))) throw new Error(`it is an archive of an account: ${AS_ACCOUNT}`)
  return entries
}

const fileOf = Effect.fnUntraced(function*(zip: ZipFile, entry: Entry, room: Room) {
  const name = entryName(entry)
  if (leadsOut(entry)) return yield* brokenArchive(new Error(LEADS_OUT))
  if (entry.isEncrypted()) return yield* brokenArchive(new Error(`${name} is encrypted`))
  yield* take(room, entry.uncompressedSize)
  const bytes = yield* Effect.tryPromise({
    try: async () => buffer(await zip.openReadStreamPromise(entry)),
    catch: brokenArchive
  })
  const file: PackedFile = { name, contentType: undefined, bytes }
  return file
})

/** A file of `.gpx.gz` with a content encoding is packed twice. */
const MAX_LAYERS = 2

const withoutGzip = Effect.fnUntraced(function*(file: PackedFile, room: Room) {
  const state = { bytes: file.bytes }
  for (let layer = 0; layer < MAX_LAYERS && isGzip(state.bytes); layer++) {
    // A file that fails may have been unpacked to the limit before.
    state.bytes = yield* Effect.tapError(gunzipped(state.bytes), () => Effect.ignore(take(room, MAX_UNPACKED_BYTES)))
    yield* take(room, state.bytes.byteLength)
  }
  return { ...file, bytes: state.bytes }
})

const NO_BYTES = new Uint8Array()

/** A file that cannot be unpacked does not stop the others. */
const keptWithProblem = (file: Omit<PackedFile, "bytes">) => (problem: InvalidInput) =>
  Effect.succeed<PackedFile>({ ...file, bytes: NO_BYTES, problem })

const eachWithoutGzip = (files: ReadonlyArray<PackedFile>, room: Room) =>
  Effect.forEach(files, (file) =>
    file.problem === undefined
      ? Effect.catchTag(withoutGzip(file, room), "InvalidInput", keptWithProblem(file))
      : Effect.succeed(file))

const filesOfZip = Effect.fnUntraced(function*(bytes: Uint8Array, room: Room) {
  const { entries, zip } = yield* Effect.tryPromise({
    try: async () => {
      const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), {
        autoClose: false,
        // The library gives up the archive where a name leads out of it.
        decodeStrings: false
      })
      return { zip, entries: await entriesOf(zip, room) }
    },
    catch: brokenArchive
  })
  const files = yield* Effect.forEach(entries, (entry) =>
    Effect.catchTag(
      fileOf(zip, entry, room),
      "InvalidInput",
      keptWithProblem({ name: entryName(entry), contentType: undefined })
    ))
  return yield* eachWithoutGzip(files, room)
})

/** A KMZ in a ZIP, or a ZIP of an export in another, is unpacked too. */
const MAX_ARCHIVES = 2

const unzipped = (
  file: PackedFile,
  room: Room,
  levels: number
): Effect.Effect<ReadonlyArray<PackedFile>, FilesTooLarge | InvalidInput> =>
  levels === 0 || !isZip(file.bytes)
    ? Effect.succeed([file])
    : Effect.flatMap(filesOfZip(file.bytes, room), (files) => eachUnzipped(files, room, levels - 1))

const nested = (archive: PackedFile) => (file: PackedFile): PackedFile =>
  file === archive ? file : { ...file, name: `${archive.name}/${file.name}` }

const eachUnzipped = (files: ReadonlyArray<PackedFile>, room: Room, levels: number) =>
  Effect.map(
    Effect.forEach(files, (file) =>
      unzipped(file, room, levels).pipe(
        Effect.map((inner) => inner.map(nested(file))),
        Effect.catchTag("InvalidInput", (problem) => Effect.map(keptWithProblem(file)(problem), (kept) => [kept]))
      )),
    (all) => all.flat()
  )

const isCompressed = (contentEncoding = "") => FILE_ENCODINGS.includes(contentEncoding.trim().toLowerCase())

const NAME_FIELD = "name"

/** Browsers and apps send other fields; one that is an option of the query must not be ignored. */
const nameOf = ({ fields }: FormParts) => {
  const option = Object.keys(fields).find((field) => field !== NAME_FIELD && Object.hasOwn(ImportQuery.fields, field))
  return option === undefined
    ? Effect.succeed(fields[NAME_FIELD])
    : Effect.fail(
      InvalidInput.at(option, "Expected this option as a parameter of the query, not as a field of the form")
    )
}

/** Finds the files of a form, a ZIP archive (or KMZ, or one with such in it) or the body itself, without gzip. */
const unpackedFiles = Effect.fnUntraced(
  function*(given: PackedFile, contentEncoding: string | undefined, room: Room) {
    if (isCompressed(contentEncoding) && !isGzip(given.bytes)) return yield* InvalidInput.at("", "Malformed gzip")
    const body = isForm(given.contentType) && !isGzip(given.bytes) ? given : yield* withoutGzip(given, room)
    const form = isForm(body.contentType) ? yield* partsOfForm(body.bytes, body.contentType ?? "") : undefined
    const files = form === undefined ? [body] : yield* eachWithoutGzip(form.files, room)
    const all = yield* Effect.forEach(files, (file) => unzipped(file, room, MAX_ARCHIVES))
    return { name: form === undefined ? undefined : yield* nameOf(form), files: all.flat() }
  }
)

const DECLARATION_BYTES = 256

const DECLARED = /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/

/** The utility `file` calls what it does not know `binary` or `unknown-8bit`. */
const CHARSET = /;\s*charset\s*=\s*"?(?!binary|unknown)([\w.:-]+)"?/i

/** Recognises UTF-16 by a byte-order mark, or by an ASCII character (XML 1.0, appendix F). */
const utf16Of = ([first, second]: Uint8Array): string | undefined => {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le"
  return (first === 0xfe && second === 0xff) || (first === 0 && second !== 0) ? "utf-16be" : undefined
}

const isMarkedUtf8 = ([first, second, third]: Uint8Array) => first === 0xef && second === 0xbb && third === 0xbf

/** Writers give other encodings these names of encodings with two bytes a character, or misspell them. */
const UNICODE = /^(?:utf|unicode|ucs-?2|iso-10646)/i

/** Windows calls the encoding of the system so, which browsers do not. */
const ANSI = /^ansi$/i
const OF_WINDOWS = "windows-1252"

/** The bytes decide on UTF-16: some writers declare another encoding. */
const encodingOf = (bytes: Uint8Array, contentType: string | undefined): string => {
  if (isMarkedUtf8(bytes)) return UTF_8
  const wide = utf16Of(bytes)
  if (wide !== undefined) return wide
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARATION_BYTES)).trimStart()
  const declared = CHARSET.exec(contentType ?? "")?.[1] ?? DECLARED.exec(start)?.[1] ?? UTF_8
  if (UNICODE.test(declared)) return UTF_8
  return ANSI.test(declared) ? OF_WINDOWS : declared
}

/** Some writers spell the labels that browsers know so (WHATWG Encoding, 4.2). */
const SPELLINGS: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(?:windows|win|ms|cp)?[-_]?(125\d|874)$/i, "windows-$1"],
  [/^(?:iso)?[-_]?8859[-_](\d{1,2})$/i, "iso-8859-$1"],
  [/^(?:iso[-_]?)?latin[-_]?(\d)$/i, "latin$1"]
]

const standardLabel = (label: string) =>
  SPELLINGS.reduce((given, [spelling, standard]) => given.replace(spelling, standard), label)

const makeDecoder = Option.liftThrowable((label: string) => new TextDecoder(label))

/** The label of an encoding that is not known does no harm where the bytes are UTF-8, as all ASCII is. */
const decoderOf = (encoding: string, bytes: Uint8Array) =>
  makeDecoder(standardLabel(encoding)).pipe(
    Option.orElse(() => isUtf8(bytes) ? makeDecoder(UTF_8) : Option.none()),
    Effect.fromOption,
    Effect.mapError(() => new UnknownEncoding({ encoding }))
  )

/** Decodes by byte-order mark, `charset` or XML declaration (RFC 7303, 3), else as UTF-8. */
const decodedPieces = (bytes: Uint8Array, encoding: string) =>
  Effect.try({
    try: () => piecesOfBytes(bytes, encoding),
    catch: () => InvalidInput.at("", `Expected valid ${encoding.toUpperCase()}`)
  })

const FORMATS: ReadonlyMap<string, TextFormat> = new Map<string, TextFormat>([
  [MEDIA_TYPES.gpx, "gpx"],
  [MEDIA_TYPES.geojson, "geojson"],
  [MEDIA_TYPES.tcx, "tcx"],
  [MEDIA_TYPES.kml, "kml"]
])

const ROOTS: ReadonlyMap<string, TextFormat> = new Map([
  ["gpx", "gpx"],
  ["TrainingCenterDatabase", "tcx"],
  ["kml", "kml"]
])

const PROLOG_LENGTH = 65_536
const PROLOG_BYTES = 4 * PROLOG_LENGTH

/** A comment may go on behind the beginning of the file. */
const COMMENT = /<!--[^]*?(?:-->|$)/g
const ROOT = /<(?:[\w.-]+:)?(gpx|kml|TrainingCenterDatabase)[\s/>]/

/** Google Earth also opens a feature without the root of KML. */
const KML_FEATURE = /^(?:<\?[^>]*\?>\s*)*<(?:[\w.-]+:)?(?:Document|Folder|Placemark)[\s/>]/

/** A list is no GeoJSON either, which its reader says; `[` alone may begin the settings of a program. */
const JSON_TEXT = /^(?:\{|\[\s*[[{"])/

const formatOfContent = (text: string): TextFormat | undefined => {
  const start = text.slice(0, PROLOG_LENGTH).replace(/^\uFEFF/, "").trimStart()
  if (JSON_TEXT.test(start)) return "geojson"
  if (!start.startsWith("<")) return undefined
  const markup = start.replace(COMMENT, "").trimStart()
  return ROOTS.get(ROOT.exec(markup)?.[1] ?? "") ?? (KML_FEATURE.test(markup) ? "kml" : undefined)
}

/** No client sends a route file as one of these. */
const OTHER_MEDIA = /^(?:image|audio|video|font)\//

/** The content decides: clients send many content types for these files. */
export const detectFormat = (contentType: string | undefined, text: string): TextFormat | undefined => {
  const mediaType = mediaTypeOf(contentType)
  return OTHER_MEDIA.test(mediaType) ? undefined : formatOfContent(text) ?? FORMATS.get(mediaType)
}

const HTML = /^\s*(?:<\?[^>]*\?>\s*|<!--(?:(?!-->)[^])*-->\s*)*<(?:!doctype\s+html|html|head|title|meta|script|body)\b/i

type Unread = InvalidInput | UnknownEncoding | UnknownFormat

interface NamedDraft {
  readonly name: string | undefined
  readonly format: FileFormat
  readonly draft: DraftFile
}

const readOne = Effect.fnUntraced(function*(
  { bytes, contentType, name, problem }: PackedFile
): Effect.fn.Return<NamedDraft, Unread> {
  if (problem !== undefined) return yield* problem
  if (bytes.length === 0) return yield* InvalidInput.at("", "The file is empty")
  if (isFit(bytes)) return { name, format: "fit", draft: yield* readFit(bytes) }
  const decoder = yield* decoderOf(encodingOf(bytes, contentType), bytes)
  const start = decoder.decode(bytes.subarray(0, PROLOG_BYTES))
  if (HTML.test(start) && mediaTypeOf(contentType) !== MEDIA_TYPES.html) {
    return yield* InvalidInput.at("", "Expected a route file, not an HTML page, such as one to sign in")
  }
  const format = detectFormat(contentType, start)
  // A picture is reported as no route, not as text in a wrong encoding.
  if (format === undefined) return yield* new UnknownFormat()
  const pieces = yield* decodedPieces(bytes, decoder.encoding)
  return { name, format, draft: yield* readRouteFile(pieces, format) }
})

const inFile = ({ name }: PackedFile) => (error: Unread) =>
  name === undefined || error._tag !== "InvalidInput" ? error : new InvalidInput({
    issues: error.issues.map(({ message, path }) => ({
      path: name,
      message: path === "" ? message : `${path}: ${message}`
    }))
  })

/** A file of waypoints alone is a track without a line. */
const noLine: DraftTrack = { ...NOTHING_SAID, segments: [], ...NOT_RECORDED }

const namedAfter = (name: string | undefined) => <Named extends Pick<DraftTrack, "names">>(named: Named): Named => ({
  ...named,
  names: [...named.names, stemOf(name)]
})

const tracksOf = (file: NamedDraft): ReadonlyArray<DraftTrack> => {
  const { draft, name } = file
  const dropped = sum(droppedIn(file))
  const tracks = draft.tracks.length === 0 ? [noLine] : draft.tracks
  const ofFile = (track: DraftTrack): DraftTrack => ({ ...namedAfter(name)(track), file: name, dropped })
  return separate({ ...draft, tracks }).map(ofFile)
}

const sum = (dropped: ReadonlyArray<Dropped>): ReadonlyArray<Dropped> =>
  [...Map.groupBy(dropped, ({ what, why }) => `${what}: ${why}`).values()].flatMap((same) => {
    const [first] = same
    return first === undefined ? [] : [{ ...first, count: same.reduce((total, { count }) => total + count, 0) }]
  })

const merged = (files: ReadonlyArray<NamedDraft>): Omit<DraftFile, "dropped"> => ({
  ...NOTHING_SAID,
  tracks: files.flatMap(tracksOf)
})

const alone = ({ draft, name }: NamedDraft): Omit<DraftFile, "dropped"> =>
  draft.tracks.length === 0
    ? namedAfter(name)(draft)
    : { ...draft, tracks: draft.tracks.map(namedAfter(name)) }

const hasPositions = ({ draft }: NamedDraft): boolean =>
  draft.waypoints.length > 0
  || draft.tracks.some(({ segments, waypoints }) => segments.length > 0 || waypoints.length > 0)

interface UnreadFile {
  readonly name: string | undefined
  readonly error: Unread
}

/** The tracks of several files are named with their file. */
const droppedIn = ({ draft, name }: NamedDraft): ReadonlyArray<Dropped> => [
  ...draft.dropped.map((dropped) =>
    dropped.why === NO_POSITIONS ? { ...dropped, what: titleOf(`${dropped.what} of`, [name]) } : dropped
  ),
  ...lostBetween(draft)
]

const readOneOfSeveral = (file: PackedFile) =>
  readOne(file).pipe(
    Effect.filterOrFail(hasPositions, ({ draft }) => noPoints(draft.dropped)),
    Effect.mapError((error): UnreadFile => ({ name: file.name, error: inFile(file)(error) }))
  )

export const whyUnknown = (error: UnknownEncoding | UnknownFormat): string =>
  error._tag === "UnknownFormat" ? "its format is not read" : `its encoding ${error.encoding} is not read`

const whyOf = (error: Unread): string =>
  error._tag === "InvalidInput" ? error.issues[0]?.message ?? error.message : whyUnknown(error)

const MAX_REASON = 200

const droppedFile = ({ error, name }: UnreadFile): Dropped => ({
  what: titleOf("file", [name]),
  why: whyOf(error).slice(0, MAX_REASON),
  count: 1
})

const allUnread = (unread: ReadonlyArray<UnreadFile>) => {
  const invalid = unread.flatMap(({ error }) => error._tag === "InvalidInput" ? error.issues : [])
  if (invalid.length > 0) return new InvalidInput({ issues: invalid.slice(0, MAX_ISSUES) })
  return unread[0]?.error ?? new UnknownFormat()
}

const MAX_ISSUES = 20

/** Leaves files that cannot be read out of several, and names them. */
const readAll = Effect.fnUntraced(function*(files: ReadonlyArray<PackedFile>) {
  const [known, failures] = yield* Effect.partition(files, readOneOfSeveral)
  const [first, second] = known
  if (first === undefined) return yield* Effect.fail(allUnread(failures))
  const unread = failures.map(droppedFile)
  const draft: DraftFile = {
    ...(second === undefined ? alone(first) : merged(known)),
    unread,
    dropped: sum([...unread, ...known.flatMap(droppedIn)])
  }
  return { format: first.format, draft }
})

/** Fails with `UnknownFormat` where no format is known. `name` is a field of a form. */
export const readPacked = Effect.fnUntraced(function*(
  given: PackedFile,
  contentEncoding: string | undefined,
  room: Room = roomOfFile()
) {
  const { files, name } = yield* unpackedFiles(given, contentEncoding, room)
  if (files.length > MAX_FILES) return yield* InvalidInput.at("", `Expected at most ${MAX_FILES} files`)
  const [only, second] = files
  if (only === undefined || second !== undefined) return { name, ...yield* readAll(files) }
  const read = yield* only.name === given.name ? readOne(only) : Effect.mapError(readOne(only), inFile(only))
  return { name, format: read.format, draft: { ...alone(read), dropped: sum(read.draft.dropped) } }
})
