/** What is encoded, hashed and handed on at once. */
const PIECE_LENGTH = 65_536

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff

/** A text in pieces of at most 64 Ki UTF-16 code units. A surrogate pair stays in one piece, which UTF-8 needs. */
export function* piecesOf(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = start + PIECE_LENGTH
    const isCut = end < text.length && isHighSurrogate(text.charCodeAt(end - 1))
    yield text.slice(start, isCut ? end - 1 : end)
    start = isCut ? end - 1 : end
  }
}
