import { Effect, Stream } from "effect"
import { createHash } from "node:crypto"
import { MAX_RATIO } from "../../schema/Archive.ts"
import type { SpooledFile } from "../spool/Spool.ts"

/** Above half of the ratio that an import accepts, lines are padded. */
const PADDED_FROM = MAX_RATIO / 2

/** Up to here any ratio is allowed: an import accepts a few MiB of any ratio. */
const ANY_RATIO_UP_TO = 2 * 1024 * 1024

/** Bytes of a line for each padding byte. A packed byte holds at most eight of those: a ratio of at most 48. */
const LINE_FOR_PADDING = 5

const SLICE = 8192

const BLANKS_OF = Array.from(
  { length: 256 },
  (_, byte) => Array.from({ length: 8 }, (_, bit) => ((byte >> bit) & 1) === 0 ? " " : "\t").join("")
)

export interface Packed {
  readonly size: number
  readonly packed: number
}

export const isTooRepetitive = ({ packed, size }: Packed): boolean =>
  size > ANY_RATIO_UP_TO && size > PADDED_FROM * packed

const blanksOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => BLANKS_OF[byte]).join("")

/** Blanks from the line's digest: incompressible, and unique as each line has its own ids. Yields between pieces. */
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
