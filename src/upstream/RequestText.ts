/**
 * Effect 4.1 decodes a payload from the `text` of the request, and `HttpServerRequest.modify` changes everything but the body, so
 * that middleware which has read the body cannot pass it on. To see it, return the request as it is: the decoder then waits for a
 * body that is already read. This ends when `modify` takes a body, or `HttpApiBuilder` a decoder of payloads.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"

/** A copy of the request with another text. One that inherits from the request costs this thread more for a long body. */
export const withText = (request: HttpServerRequest.HttpServerRequest, text: string) =>
  Object.defineProperty(request.modify({}), "text", { value: Effect.succeed(text) })
