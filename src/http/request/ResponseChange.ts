import { Effect } from "effect"
import { HttpEffect, type HttpServerResponse } from "effect/http"
import { HEADERS } from "../api/Headers.ts"

type Change = (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse

/** Changes the response of the request, whatever makes it. */
export const changeResponse = (change: Change) =>
  HttpEffect.appendPreResponseHandler((_request, response) => Effect.succeed(change(response)))

/** Returns `Vary` (RFC 9110, 12.5.5) with these names added to those of a response. Each value is made once. */
export const varyingBy = (names: ReadonlyArray<string>) => {
  const made = new Map<string, string>()
  return ({ headers }: HttpServerResponse.HttpServerResponse): string => {
    const known = headers[HEADERS.vary.key] ?? ""
    const value = made.get(known) ??
      [...new Set([...known.split(", ").filter((name) => name !== ""), ...names])].toSorted().join(", ")
    made.set(known, value)
    return value
  }
}
