import { Duration, Effect, type Scope } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { RateLimited, Unavailable } from "../../schema/Errors.ts"
import { HEADERS } from "../api/Headers.ts"
import { addressSubjects } from "./ClientAddress.ts"
import { changeResponse } from "./ResponseChange.ts"

export interface Shares {
  readonly perAddress: number
  readonly total: number
}

const RETRY_AFTER = Duration.seconds(5)

const setRetryAfter = changeResponse((response) =>
  HttpServerResponse.setHeader(response, HEADERS.retryAfter.key, String(Duration.toSeconds(RETRY_AFTER)))
)

const addressFull = (what: string, direction: "to" | "from") =>
  new RateLimited({
    message: `Too many ${what} ${direction} this address at once: try again when one has ended`,
    details: { retryAfterSeconds: Duration.toSeconds(RETRY_AFTER) }
  })

/**
 * Reserves an amount for the client's address until the scope closes. Fails with `RateLimited` above `perAddress` and
 * `Unavailable` above `total`; the first reservation may exceed either.
 */
export const makeAddressShares = (
  what: string,
  { perAddress, total }: Shares,
  direction: "to" | "from" = "to"
): (amount: number) => Effect.Effect<
  void,
  RateLimited | Unavailable,
  HttpServerRequest.HttpServerRequest | Scope.Scope
> => {
  const taken = new Map<string, number>()

  const add = (address: string, amount: number) => {
    const now = (taken.get(address) ?? 0) + amount
    if (now > 0) taken.set(address, now)
    else taken.delete(address)
  }

  const take = Effect.fnUntraced(function*(address: string, amount: number) {
    const own = taken.get(address) ?? 0
    if (own > 0 && own + amount > perAddress) {
      yield* setRetryAfter
      return yield* addressFull(what, direction)
    }
    const all = [...taken.values()].reduce((sum, part) => sum + part, 0)
    if (all > 0 && all + amount > total) {
      return yield* Unavailable.retryAfter(`Too many ${what} at once: try again`, RETRY_AFTER)
    }
    add(address, amount)
  })

  return (amount) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const address = addressSubjects(request).host
      return Effect.acquireRelease(take(address, amount), () => Effect.sync(() => add(address, -amount)))
    })
}
