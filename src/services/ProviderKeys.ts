import { Cache, Clock, Context, Data, Duration, Effect, Layer, Ref, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from "jose"
import { type BadGateway, type GatewayTimeout, Unauthorized, type Unavailable } from "../schema/Errors.ts"
import { askFor } from "./Upstream.ts"

/** A provider rotates its keys over days; who asks for an unknown key makes us look again, but not at will. */
const KEYS_LIFETIME = Duration.minutes(10)
const REFETCH_INTERVAL = 30_000

const PROVIDER = { name: "The identity provider", timeout: "5 seconds", maxBytes: 1024 * 1024 } as const

/** Symmetric algorithms are never accepted: our client secret signs nothing (RFC 8725, 3.1). */
const ALGORITHMS = ["RS256", "ES256"]

/** Clocks differ a little. */
const TOLERANCE_SECONDS = 60

const KeySet = Schema.Struct({
  keys: Schema.Array(Schema.StructWithRest(Schema.Struct({ kty: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ]))
})

const notAccepted = new Unauthorized({ message: "The sign-in was not accepted" })

/** Signed by a key that the provider may have made since we looked. */
class UnknownKey extends Data.TaggedError("UnknownKey") {}

type Failure = Unauthorized | BadGateway | Unavailable | GatewayTimeout

/** What a token must be, beside signed: by whom and for whom, for what. */
export interface Expected {
  readonly keysAt: string
  readonly issuer: ReadonlyArray<string>
  readonly audience: string
}

/** The keys by which an identity provider signs (RFC 7517), kept for ten minutes. */
export class ProviderKeys extends Context.Service<ProviderKeys, {
  /** The claims of a token that the provider signed, for us, and that is not over. */
  readonly verify: (token: string, expected: Expected) => Effect.Effect<JWTPayload, Failure>
}>()("route-planning-service/ProviderKeys") {
  static readonly layer = Layer.effect(
    ProviderKeys,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      const refetchedAt = yield* Ref.make(-REFETCH_INTERVAL)

      const keys = yield* Cache.makeWith(
        (url: string) => askFor(client, HttpClientRequest.get(url), PROVIDER, KeySet),
        { capacity: 1, timeToLive: (exit) => exit._tag === "Success" ? KEYS_LIFETIME : Duration.zero }
      )

      // One look a while for all callers: a flood of tokens with made-up keys is no flood at the provider.
      const refetch = Effect.fnUntraced(function*(url: string) {
        const now = yield* Clock.currentTimeMillis
        const isDue = yield* Ref.modify(
          refetchedAt,
          (last) => now - last >= REFETCH_INTERVAL ? [true, now] : [false, last]
        )
        return isDue ? yield* Cache.refresh(keys, url) : yield* notAccepted
      })

      const verifyWith = Effect.fnUntraced(function*(token: string, keySet: JSONWebKeySet, expected: Expected) {
        const currentDate = new Date(yield* Clock.currentTimeMillis)
        return yield* Effect.tryPromise({
          try: () =>
            jwtVerify(token, createLocalJWKSet(keySet), {
              algorithms: ALGORITHMS,
              issuer: [...expected.issuer],
              audience: expected.audience,
              requiredClaims: ["sub", "iat", "exp"],
              clockTolerance: TOLERANCE_SECONDS,
              currentDate
            }),
          catch: (error) => error instanceof errors.JWKSNoMatchingKey ? new UnknownKey() : notAccepted
        })
      })

      return ProviderKeys.of({
        verify: Effect.fn("ProviderKeys.verify")(function*(token, expected) {
          const known = yield* Cache.get(keys, expected.keysAt)
          const { payload } = yield* verifyWith(token, toKeySet(known), expected).pipe(
            Effect.catchTag(
              "UnknownKey",
              () => Effect.flatMap(refetch(expected.keysAt), (fresh) => verifyWith(token, toKeySet(fresh), expected))
            ),
            Effect.catchTag("UnknownKey", () => Effect.fail(notAccepted))
          )
          return payload
        })
      })
    })
  )
}

const toKeySet = ({ keys }: typeof KeySet.Type): JSONWebKeySet => ({ keys: keys.map((key) => ({ ...key })) })
