import { type IncomingMessage, ServerResponse } from "node:http"

/** The buffers are one body, in order. */
export class Pieces {
  readonly pieces: ReadonlyArray<Uint8Array>

  constructor(pieces: ReadonlyArray<Uint8Array>) {
    this.pieces = pieces
  }
}

/**
 * Writes the pieces of a body in one iteration of the event loop, in which Node gathers them into one write.
 * `@effect/platform-node` 4.1.0 sends several buffers only as a stream, by `pipeline` through a `Transform` that
 * counts: a list of 20 routes of 1,000 positions takes 1.5 times the processor time. It passes the body of
 * `HttpServerResponse.raw` to `end` as it is, which this class uses. To see it, make `Pieces` a `Readable` and run
 * `npm run bench:crowd -- --only "list of 20"`. This ends when a release sends an array of buffers.
 */
export class PiecedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  override end(...args: ReadonlyArray<unknown>): this {
    const [body, sent] = args
    if (!(body instanceof Pieces)) return Reflect.apply(super.end, this, args)
    for (const piece of body.pieces) this.write(piece)
    return super.end(typeof sent === "function" ? () => sent() : undefined)
  }
}
