/** Characters that are written, read or parsed at once. */
export const PIECE_LENGTH = 65_536

export function* chunked(pieces: Iterable<string>): Generator<string> {
  let chunk = ""
  for (const piece of pieces) {
    chunk += piece
    if (chunk.length < PIECE_LENGTH) continue
    yield chunk
    chunk = ""
  }
  if (chunk !== "") yield chunk
}
