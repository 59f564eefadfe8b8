import { type IncomingMessage, ServerResponse } from "node:http"
import { BodyPieces } from "../http/request/BodyPieces.ts"

/** Writes the pieces of a body in one iteration of the event loop, in which Node gathers them into one write. */
export class PiecedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  override end(...args: ReadonlyArray<unknown>): this {
    const [body, sent] = args
    if (!(body instanceof BodyPieces)) return Reflect.apply(super.end, this, args)
    for (const piece of body.pieces) this.write(piece)
    return super.end(typeof sent === "function" ? () => sent() : undefined)
  }
}
