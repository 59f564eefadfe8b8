import { HttpServerResponse } from "effect/http"
import { Pieces } from "../../upstream/PiecedResponse.ts"

/** Pieces are not joined: those of long lines are mostly views of PostgreSQL's buffers, and joining copies all. */
export class BodyPieces extends Pieces {
  readonly length: number
  /** These bytes stay in memory until all is sent: pieces keep the buffers that they are views of. */
  readonly held: number

  constructor(pieces: ReadonlyArray<Uint8Array>) {
    super(pieces)
    this.length = pieces.reduce((length, piece) => length + piece.length, 0)
    const buffers = new Set(pieces.map(({ buffer }) => buffer))
    this.held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  get joined(): Uint8Array {
    return Buffer.concat(this.pieces, this.length)
  }
}

export const piecesIn = ({ body }: HttpServerResponse.HttpServerResponse): BodyPieces | undefined =>
  body._tag === "Raw" && body.body instanceof BodyPieces ? body.body : undefined

/** The driver's buffers of many long rows have twice their bytes; for a slow client no more may be kept. */
const MOST_HELD = 2.5

/** Only `PiecedResponse` sends pieces without `withJoinedBody`. They are joined if that takes much less memory. */
export const piecedResponse = (
  pieces: ReadonlyArray<Uint8Array>,
  options: HttpServerResponse.Options.WithContentType
) => {
  const [only, ...more] = pieces
  if (only !== undefined && more.length === 0) return HttpServerResponse.uint8Array(only, options)
  const body = new BodyPieces(pieces)
  if (body.held > MOST_HELD * body.length) return HttpServerResponse.uint8Array(body.joined, options)
  return HttpServerResponse.raw(body, { ...options, contentLength: body.length })
}

export const withJoinedBody = (response: HttpServerResponse.HttpServerResponse) => {
  const body = piecesIn(response)
  return body === undefined
    ? response
    : HttpServerResponse.uint8Array(body.joined, {
      status: response.status,
      headers: response.headers,
      cookies: response.cookies
    })
}
