import { constants, deflateRawSync } from "node:zlib"

/** `size` is the number of bytes of the unpacked file. */
interface PackedFile {
  readonly name: string
  readonly packed: Buffer
  readonly size: number
}

const BLOCK = 4 * 1024 * 1024

/** Returns a file with this many blocks of 4 MiB of spaces, packed without making them all. */
export const spaces = (name: string, blocks: number): PackedFile => {
  const block = deflateRawSync(Buffer.alloc(BLOCK, " "), { level: 9, finishFlush: constants.Z_FULL_FLUSH })
  const end = deflateRawSync(Buffer.alloc(0))
  return { name, packed: Buffer.concat([...Array.from({ length: blocks }, () => block), end]), size: blocks * BLOCK }
}

export const deflated = (name: string, text: string): PackedFile => ({
  name,
  packed: deflateRawSync(text),
  size: Buffer.byteLength(text)
})

const SIGNATURES = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50 }

/** Returns the common part of local and central headers (APPNOTE 4.3.7, 4.3.12). No reader here checks the CRC. */
const shared = ({ name, packed, size }: PackedFile) => {
  const bytes = Buffer.alloc(26)
  bytes.writeUInt16LE(20, 0)
  bytes.writeUInt16LE(8, 4)
  bytes.writeUInt32LE(packed.length, 14)
  bytes.writeUInt32LE(size, 18)
  bytes.writeUInt16LE(Buffer.byteLength(name), 22)
  return bytes
}

const signed = (signature: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(signature)
  return bytes
}

const centralOf = (file: PackedFile, offset: number) => {
  const rest = Buffer.alloc(14)
  rest.writeUInt32LE(offset, 10)
  return Buffer.concat([signed(SIGNATURES.central), Buffer.alloc(2), shared(file), rest, Buffer.from(file.name)])
}

/** Returns a ZIP archive of packed, deflated files. */
export const archiveOfPacked = (files: ReadonlyArray<PackedFile>): Uint8Array => {
  const locals = files.map((file) =>
    Buffer.concat([signed(SIGNATURES.local), shared(file), Buffer.from(file.name), file.packed])
  )
  let next = 0
  const offsets = locals.map(({ length }) => (next += length) - length)
  const directory = Buffer.concat(files.map((file, index) => centralOf(file, offsets[index] ?? 0)))
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(next, 12)
  return Buffer.concat([...locals, directory, signed(SIGNATURES.end), end])
}
