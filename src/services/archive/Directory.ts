import { read } from "node:fs"
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from "yauzl"
import { MAX_ARCHIVE_FILES } from "../../schema/Archive.ts"
import type { NamelessFile } from "../spool/NamelessFile.ts"
import { READ_FILES } from "./Manifests.ts"

const WINDOW = 65_536

/** In bytes: fits the names of as many files as an archive may have. */
export const MAX_MANIFEST = 16 * 1024 * 1024

const MAX_DIRECTORY = MAX_MANIFEST

export interface Directory {
  readonly entries: ReadonlyMap<string, Entry>
  readonly names: ReadonlyArray<string>
  readonly sizes: ReadonlyArray<number>
}

/** Unbuffered, 50,000 entries take 100,000 reads and a second of CPU. Buffered reads still yield to the event loop. */
class ReadAhead extends RandomAccessReader {
  private readonly descriptor: number
  private window = Buffer.alloc(0)
  private start = 0

  constructor(descriptor: number) {
    super()
    this.descriptor = descriptor
  }

  override read(
    target: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void
  ) {
    const from = position - this.start
    if (from >= 0 && from + length <= this.window.length) {
      this.window.copy(target, offset, from, from + length)
      setImmediate(callback, null)
      return
    }
    const window = Buffer.allocUnsafe(Math.max(length, WINDOW))
    read(this.descriptor, window, 0, window.length, position, (error, count) => {
      this.window = window.subarray(0, count)
      this.start = position
      if (error === null && count >= length) this.window.copy(target, offset, 0, length)
      callback(error ?? (count < length ? new Error("unexpected EOF") : null))
    })
  }
}

/** Throws for a repeated name, and for more files than an archive may have. */
export const directoryOf = async (file: NamelessFile, { entryCount, fileSize }: ZipFile): Promise<Directory> => {
  if (entryCount > MAX_ARCHIVE_FILES) throw new Error(`it has more than ${MAX_ARCHIVE_FILES} files`)
  const zip = await fromRandomAccessReaderPromise(new ReadAhead(file.descriptor), fileSize, { strictFileNames: true })
  const entries = new Map<string, Entry>()
  const sizes = new Map<string, number>()
  const total = { bytes: 0 }
  for await (const entry of zip.eachEntry()) {
    const { extraFieldLength, fileCommentLength, fileName, fileNameLength, uncompressedSize } = entry
    total.bytes += fileNameLength + extraFieldLength + fileCommentLength
    if (total.bytes > MAX_DIRECTORY) throw new Error(`its directory has more than ${MAX_DIRECTORY} bytes`)
    if (sizes.has(fileName)) throw new Error(`it has ${fileName} twice`)
    if (fileName.endsWith("/")) continue
    sizes.set(fileName, uncompressedSize)
    if (READ_FILES.includes(fileName)) entries.set(fileName, entry)
  }
  return { entries, names: [...sizes.keys()], sizes: [...sizes.values()] }
}
