/**
 * Effect 4.1 decodes a payload from the `text` of the request, and `HttpServerRequest.modify` cannot change the body,
 * so middleware that has read it cannot pass it on. To see it, return the request as it is: the decoder waits for a
 * body that is already read. This ends when `modify` takes a body, or `HttpApiBuilder` a decoder of payloads.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** Returns a copy with another text. An object that inherits from the request costs more time for a long body. */
export const withText = (request: HttpServerRequest.HttpServerRequest, text: string) =>
  Object.defineProperty(request.modify({}), "text", { value: Effect.succeed(text) })
