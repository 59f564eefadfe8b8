const CHUNK_LENGTH = 65_536

/** The same text in pieces of some 64 KiB, whatever the pieces that it came in. */
export function* chunked(pieces: Iterable<string>): Generator<string> {
  let chunk = ""
  for (const piece of pieces) {
    chunk += piece
    if (chunk.length < CHUNK_LENGTH) continue
    yield chunk
    chunk = ""
  }
  if (chunk !== "") yield chunk
}
