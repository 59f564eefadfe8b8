import type { HttpServerResponse } from "effect/http"
import { HEADERS } from "../api/Headers.ts"

/** The value of `Vary` (RFC 9110, 12.5.5) with these names added to those of a response, each value made once. */
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
