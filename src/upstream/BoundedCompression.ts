/**
 * Effect 4.1 reads `Accept-Encoding` by a pattern that takes quadratic time for blanks: 14,000 of them hold up the process
 * for a third of a second. To see it, let this be `HttpMiddleware.compression()` and run `test/http/hostile.test.ts`. This
 * ends when `parseAcceptEncoding` reads in one pass.
 */
import { Effect } from "effect"
import { HttpMiddleware, HttpServerRequest, type HttpServerResponse } from "effect/http"

/** Browsers send less than a quarter of this. */
const MAX_ACCEPT_ENCODING = 256

const compression = HttpMiddleware.compression()

export const boundedCompression = <E, R>(httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const { "accept-encoding": accepted = "" } = headers
    return accepted.length > MAX_ACCEPT_ENCODING ? httpEffect : compression(httpEffect)
  })
