import { createHash } from "node:crypto"

/** Of what is packed better than this, half of what an import accepts, each line is padded. */
const MAX_RATIO = 25

/** So much of a file may be packed as well as it can be: an import accepts a few MiB of any ratio. */
const ANY_RATIO_UP_TO = 4 * 1024 * 1024

/** Characters of a line for each of its padding. A byte of a packed file has at most eight of these: a ratio of 48. */
const LINE_FOR_PADDING = 5

const BLANKS = [" ", "\t"]

/** How long a file is, and how long what it is packed in. */
export interface Packed {
  readonly size: number
  readonly packed: number
}

/** Whether an import could refuse the file as one that unpacks to too much. */
export const isTooRepetitive = ({ packed, size }: Packed): boolean =>
  size > ANY_RATIO_UP_TO && size > MAX_RATIO * packed

/**
 * Blanks to stand behind a line of JSON, which cannot be packed well: each is a bit of the line's digest. A line has ids of
 * its own, so no two of an archive have the same.
 */
export const paddingOf = (line: string): string => {
  const outputLength = Math.ceil(line.length / LINE_FOR_PADDING / 8)
  const bytes = createHash("shake256", { outputLength }).update(line).digest()
  return Array.from(bytes, (byte) => Array.from({ length: 8 }, (_, bit) => BLANKS[(byte >> bit) & 1]).join("")).join("")
}
