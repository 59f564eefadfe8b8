import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { isSafe } from "../../schema/Http.ts"
import { HEADERS } from "../api/Headers.ts"
import { isKnown, notModified } from "../response/Versioned.ts"

/** 304 where the client has the response already (RFC 9110, 13.1.2), for what is tagged by its bytes, such as lists. */
export const conditionalLayer = HttpRouter.middleware(
  (httpEffect) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, method }) => {
      const known = headers[HEADERS.ifNoneMatch.key]
      if (known === undefined || !isSafe(method)) return httpEffect
      return Effect.map(httpEffect, (response) => {
        const etag = response.headers[HEADERS.etag.key]
        return response.status === 200 && etag !== undefined && isKnown(known, etag) ? notModified(etag) : response
      })
    }),
  { global: true }
)
