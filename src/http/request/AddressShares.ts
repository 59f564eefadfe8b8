import { Duration, Effect, type Scope } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { RateLimited, Unavailable } from "../../schema/Errors.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { HEADERS } from "../api/Headers.ts"
import { addressSubjects } from "./ClientAddress.ts"
import { changeResponse } from "./ResponseChange.ts"

export interface Shares {
  /** One IPv4 address or /64 may hold at most this amount. */
  readonly perAddress: number
  /** One /24 or /48 may hold at most this amount. */
  readonly perNetwork: number
  /** All callers without a valid credential together may hold at most this amount. */
  readonly anonymous: number
  readonly total: number
}

type Refused = RateLimited | Unavailable

interface Share {
  readonly key: string
  readonly limit: number
  readonly refused: Effect.Effect<never, Refused, HttpServerRequest.HttpServerRequest>
}

interface Reservation {
  /** Reserves more. Fails above a share in which others have a part too. */
  readonly take: (amount: number) => Effect.Effect<void, Refused, HttpServerRequest.HttpServerRequest>
  /** Reserves more, also above a share. */
  readonly add: (amount: number) => Effect.Effect<void>
}

const RETRY_AFTER = Duration.seconds(5)

const setRetryAfter = changeResponse((response) =>
  HttpServerResponse.setHeader(response, HEADERS.retryAfter.key, String(Duration.toSeconds(RETRY_AFTER)))
)

/** A request with a credential is known by its `source`: middleware around authentication has another object. */
const identified = new WeakSet<object>()

/** Says that the request has a valid credential. */
export const noteCredential = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ source }) => void identified.add(source)
)

/** Callers with a credential always have a part of the amount, whatever callers without one hold. */
export const makeAddressShares = (what: string, limits: Shares, direction: "to" | "from" = "to") => {
  const taken = new Map<string, number>()

  const takenOf = (key: string) => taken.get(key) ?? 0

  const change = (key: string, amount: number) => {
    const now = takenOf(key) + amount
    if (now > 0) taken.set(key, now)
    else taken.delete(key)
  }

  const refusing = (error: () => Refused) =>
    Effect.flatMap(RequestNotes, (notes) => {
      notes.fault = { limit: what }
      return Effect.fail(error())
    })

  const full = (sharer: "address" | "network") =>
    Effect.andThen(
      setRetryAfter,
      refusing(() =>
        new RateLimited({
          message: `Too many ${what} ${direction} this ${sharer} at once: try again when one has ended`,
          details: { reason: "too_many_at_once", retryAfterSeconds: Duration.toSeconds(RETRY_AFTER) }
        })
      )
    )

  const busy = refusing(() => Unavailable.retryAfter(`Too many ${what} at once: try again`, RETRY_AFTER))

  const fullAddress = full("address")
  const fullNetwork = full("network")

  const ownShares = (request: HttpServerRequest.HttpServerRequest): ReadonlyArray<Share> => {
    const { host, network } = addressSubjects(request)
    return [
      { key: host, limit: limits.perAddress, refused: fullAddress },
      { key: network, limit: limits.perNetwork, refused: fullNetwork }
    ]
  }

  const sharesOf = (request: HttpServerRequest.HttpServerRequest): ReadonlyArray<Share> => [
    ...ownShares(request),
    ...(identified.has(request.source) ? [] : [{ key: "anonymous", limit: limits.anonymous, refused: busy }]),
    { key: "all", limit: limits.total, refused: busy }
  ]

  const reservationIn = (shares: ReadonlyArray<Share>, own: { amount: number }): Reservation => {
    const add = (amount: number) =>
      Effect.sync(() => {
        own.amount += amount
        for (const { key } of shares) change(key, amount)
      })
    const isFull = ({ key, limit }: Share, amount: number) => {
      const all = takenOf(key)
      return all > own.amount && all + amount > limit
    }
    return {
      add,
      take: (amount) =>
        Effect.suspend((): ReturnType<Reservation["take"]> =>
          shares.find((share) => isFull(share, amount))?.refused ?? add(amount)
        )
    }
  }

  /** The reservation starts empty, and keeps what is taken until the scope closes. */
  const reserve: Effect.Effect<Reservation, never, HttpServerRequest.HttpServerRequest | Scope.Scope> = Effect.gen(
    function*() {
      const shares = sharesOf(yield* HttpServerRequest.HttpServerRequest)
      const own = { amount: 0 }
      const reservation = reservationIn(shares, own)
      yield* Effect.addFinalizer(() => reservation.add(-own.amount))
      return reservation
    }
  )

  /** Fails where the address or its network has nothing left. Whether the caller has a credential need not be known. */
  const requireRoom = Effect.flatMap(
    HttpServerRequest.HttpServerRequest,
    (request): ReturnType<Reservation["take"]> =>
      ownShares(request).find(({ key, limit }) => takenOf(key) >= limit)?.refused ?? Effect.void
  )

  return { requireRoom, reserve }
}
