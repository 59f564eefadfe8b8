import { HttpServerResponse } from "effect/http"
import { HEADERS } from "../api/Headers.ts"

/** Adds names of request headers to `Vary` (RFC 9110, 12.5.5). */
export const varyBy = (response: HttpServerResponse.HttpServerResponse, names: ReadonlyArray<string>) => {
  const known = response.headers[HEADERS.vary.key]?.split(", ") ?? []
  return HttpServerResponse.setHeader(
    response,
    HEADERS.vary.key,
    [...new Set([...known, ...names])].toSorted().join(", ")
  )
}
