import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import type { SpooledFile } from "../spool/Spool.ts"

/** Of what is packed better than this, half of what an import accepts, each line is padded. */
const MAX_RATIO = 25

/** So much of a file may be packed as well as it can be: an import accepts a few MiB of any ratio. */
const ANY_RATIO_UP_TO = 2 * 1024 * 1024

/** Bytes of a line for each of its padding. A byte of a packed file has at most eight of these: a ratio of 48. */
const LINE_FOR_PADDING = 5

/** Bytes of a digest that are turned into blanks at once: 64 KiB of them. */
const SLICE = 8192

/** Eight blanks for each byte: one for each of its bits, from the lowest. */
const BLANKS_OF = Array.from(
  { length: 256 },
  (_, byte) => Array.from({ length: 8 }, (_, bit) => ((byte >> bit) & 1) === 0 ? " " : "\t").join("")
)

/** How long a file is, and how long what it is packed in. */
export interface Packed {
  readonly size: number
  readonly packed: number
}

/** Whether an import could refuse the file as one that unpacks to too much. */
export const isTooRepetitive = ({ packed, size }: Packed): boolean =>
  size > ANY_RATIO_UP_TO && size > MAX_RATIO * packed

const blanksOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => BLANKS_OF[byte]).join("")

/**
 * Puts blanks behind a line of JSON, which cannot be packed well: each is a bit of the line's digest. A line has ids of its
 * own, so no two of an archive have the same. Others run between the pieces of the line that is digested, and those of 64 KiB
 * that are put.
 */
export const padLine = Effect.fnUntraced(function*(line: SpooledFile, put: (text: string) => Effect.Effect<void>) {
  const outputLength = Math.ceil(line.size / LINE_FOR_PADDING / 8)
  const hash = createHash("shake256", { outputLength })
  yield* Stream.runForEach(line.bytes, (piece) => {
    hash.update(piece)
    return Effect.yieldNow
  })
  const digest = hash.digest()
  for (let start = 0; start < outputLength; start += SLICE) {
    yield* put(blanksOf(digest.subarray(start, start + SLICE)))
  }
})
