import { Effect } from "effect"
import { MultipartParser } from "effect/http"
import { isUtf8 } from "node:buffer"
import { type Entry, getFileNameLowLevel, validateFileName } from "yauzl"
import { MAX_FILES } from "../../schema/Import.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import { InvalidInput } from "../DomainErrors.ts"

/** The names are in lower case (RFC 9110, 8.4.1.3). */
export const FILE_ENCODINGS: ReadonlyArray<string> = ["gzip", "x-gzip"]

export interface PackedFile {
  readonly name: string | undefined
  readonly contentType: string | undefined
  readonly bytes: Uint8Array
  readonly problem?: InvalidInput
}

const startsWith = (bytes: Uint8Array, start: ReadonlyArray<number>, at = 0) =>
  start.every((byte, index) => bytes[at + index] === byte)

const GZIP = [0x1f, 0x8b]
const ZIP = [0x50, 0x4b, 0x03, 0x04]
const EMPTY_ZIP = [0x50, 0x4b, 0x05, 0x06]
const FIT = [0x2e, 0x46, 0x49, 0x54]
const FIT_OFFSET = 8

export const isGzip = (bytes: Uint8Array): boolean => startsWith(bytes, GZIP)

export const isZip = (bytes: Uint8Array): boolean => startsWith(bytes, ZIP) || startsWith(bytes, EMPTY_ZIP)

export const isFit = (bytes: Uint8Array): boolean => startsWith(bytes, FIT, FIT_OFFSET)

export const isForm = (contentType: string | undefined): boolean => mediaTypeOf(contentType) === MEDIA_TYPES.multipart

/** Returns true if reading takes longer than the number of bytes suggests. */
export const isPacked = (bytes: Uint8Array, contentType: string | undefined): boolean =>
  isGzip(bytes) || isZip(bytes) || isFit(bytes) || isForm(contentType)

/** Garmin's export names its files by the rider's address. */
const ADDRESS = /^[^@\s]+@[^@\s_]+_(?=\d)/

export const stemOf = (name: string | undefined): string | undefined => {
  const file = name?.split(/[\\/]/).at(-1)?.trim() ?? ""
  const stem = file.replace(ADDRESS, "").replace(/\.gz$/i, "").replace(
    /\.(?:gpx|geojson|json|tcx|kml|kmz|fit|xml|zip)$/i,
    ""
  ).trim()
  return stem === "" ? undefined : stem
}

const NAMED_IN_UTF_8 = 0x800

/** Many programs write UTF-8 without its flag. In other encodings a character may have the byte of a backslash. */
export const entryName = ({ extraFields, fileNameRaw }: Entry): string => {
  const isText = isUtf8(fileNameRaw)
  return getFileNameLowLevel(isText ? NAMED_IN_UTF_8 : 0, fileNameRaw, extraFields, !isText)
}

export const LEADS_OUT = "its name leads out of the archive"

export const leadsOut = (entry: Entry): boolean => validateFileName(entryName(entry).replaceAll("\\", "/")) !== null

/** Finds folders, hidden files, and what macOS adds beside the files. */
export const isNoFile = (name: string): boolean => /(?:^|\/)(?:__MACOSX\/|\.(?!\.?\/))|\/$/.test(name)

export const MANIFEST = "manifest.json"

/** A ZIP with one of these is an export of this service. */
export const OWN_FILES: ReadonlySet<string> = new Set([MANIFEST, "routes.json"])

/**
 * Strava's archive has this list. The folder is a part of the key of each activity, and V8 gives all long strings of one
 * length the same hash.
 */
export const ACTIVITIES = /^(?:[^/]{1,255}\/)?activities\.csv$/

/** Other programs write a single file with one of these names, too: two of them, or the list and its folder, are sure. */
export const isOfAccount = (names: ReadonlyArray<string>): boolean =>
  names.some((name) => {
    const folder = name.slice(0, name.lastIndexOf("/") + 1)
    return ACTIVITIES.test(name)
      ? names.some((other) => other.startsWith(`${folder}activities/`))
      : [...OWN_FILES].every((own) => names.includes(`${folder}${own}`))
  })

const MAX_FIELD_BYTES = 64 * 1024

const problemOf = (error: MultipartParser.MultipartError): string => {
  switch (error._tag) {
    case "ReachedLimit":
      return `it has more than ${MAX_FILES} parts, or a field of more than ${MAX_FIELD_BYTES} bytes`
    case "InvalidBoundary":
      return "the content type has no boundary"
    case "EndNotReached":
      return "its last boundary is missing"
    default:
      return "the headers of a part are malformed"
  }
}

/** The last of several fields with the same name counts. */
export interface FormParts {
  readonly fields: Readonly<Record<string, string | undefined>>
  readonly files: ReadonlyArray<PackedFile>
}

/** Reads the parts of a form (RFC 7578). */
export const partsOfForm = Effect.fnUntraced(function*(bytes: Uint8Array, contentType: string) {
  const fields = new Map<string, string>()
  const files: Array<PackedFile> = []
  const problems: Array<string> = []
  const parser = MultipartParser.make({
    headers: { "content-type": contentType },
    isFile: ({ filename }) => filename !== undefined,
    maxParts: MAX_FILES,
    maxFieldSize: MAX_FIELD_BYTES,
    onField: ({ name }, value) => fields.set(name, new TextDecoder().decode(value)),
    // Browsers guess the content type of a part from the name of the file.
    onFile: ({ filename }) => {
      const chunks: Array<Uint8Array> = []
      return (chunk) => {
        if (chunk === null) files.push({ name: filename, contentType: undefined, bytes: Buffer.concat(chunks) })
        else chunks.push(chunk)
      }
    },
    onError: (error) => problems.push(problemOf(error)),
    onDone: () => {}
  })
  parser.write(bytes)
  parser.end()
  const [problem] = problems
  if (problem !== undefined) return yield* InvalidInput.at("", `Malformed multipart/form-data: ${problem}`)
  const parts: FormParts = { fields: Object.fromEntries(fields), files }
  return parts
})
