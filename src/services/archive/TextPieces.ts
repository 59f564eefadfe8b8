const PIECE_LENGTH = 65_536

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff

/** A text in pieces of at most 64 Ki UTF-16 code units, with surrogate pairs kept whole for UTF-8. */
export function* piecesOf(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = start + PIECE_LENGTH
    const isCut = end < text.length && isHighSurrogate(text.charCodeAt(end - 1))
    yield text.slice(start, isCut ? end - 1 : end)
    start = isCut ? end - 1 : end
  }
}
