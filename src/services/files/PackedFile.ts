import { isUtf8 } from "node:buffer"
import { type Entry, getFileNameLowLevel, validateFileName } from "yauzl"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import type { InvalidInput } from "../DomainErrors.ts"

/** RFC 9110, 8.4.1.3; in lower case. */
export const FILE_ENCODINGS: ReadonlyArray<string> = ["gzip", "x-gzip"]

export interface PackedFile {
  readonly name: string | undefined
  readonly contentType: string | undefined
  readonly bytes: Uint8Array
  /** Says why it could not be unpacked. */
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

/** True if reading takes longer than the number of bytes suggests. */
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

/** Many programs write UTF-8 without the flag for it. In other encodings a character may have the byte of a backslash. */
export const entryName = ({ extraFields, fileNameRaw }: Entry): string => {
  const isText = isUtf8(fileNameRaw)
  return getFileNameLowLevel(isText ? NAMED_IN_UTF_8 : 0, fileNameRaw, extraFields, !isText)
}

export const LEADS_OUT = "its name leads out of the archive"

export const leadsOut = (entry: Entry): boolean => validateFileName(entryName(entry).replaceAll("\\", "/")) !== null

/** Folders, hidden files, and what macOS adds beside the files. */
export const isNoFile = (name: string): boolean => /(?:^|\/)(?:__MACOSX\/|\.(?!\.?\/))|\/$/.test(name)
