import { Cache, Clock, Duration, Effect, Exit, Option, Ref, Schema } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { createLocalJWKSet, type JWTVerifyGetKey } from "jose"
import { requestProvider, unusable } from "./ProviderCalls.ts"

const FRESH = Duration.minutes(10)

/** Between two requests, so that invented key ids do not burden the provider. */
const COOL_DOWN = Duration.seconds(30)

const parameters = {
  kid: Schema.optionalKey(Schema.String),
  use: Schema.optionalKey(Schema.String)
}

const Key = Schema.Union([
  Schema.Struct({
    ...parameters,
    kty: Schema.Literal("RSA"),
    alg: Schema.optionalKey(Schema.Literal("RS256")),
    n: Schema.String,
    e: Schema.String
  }),
  Schema.Struct({
    ...parameters,
    kty: Schema.Literal("EC"),
    alg: Schema.optionalKey(Schema.Literal("ES256")),
    crv: Schema.Literal("P-256"),
    x: Schema.String,
    y: Schema.String
  })
])

const decodeKey = Schema.decodeUnknownOption(Key)

const KeySet = Schema.Struct({ keys: Schema.Array(Schema.Unknown) })

interface Keys {
  readonly resolve: JWTVerifyGetKey
  readonly ids: ReadonlySet<string | undefined>
  readonly freshUntil: number
}

/**
 * OpenID Connect Core, 10.1.1. Cached for 10 minutes; an unknown id refreshes them, at most once in 30 seconds. During
 * an outage of the provider the cached keys stay valid. Concurrent calls share one request.
 */
export const makeProviderKeys = Effect.fnUntraced(function*(client: HttpClient.HttpClient) {
  const latest = yield* Ref.make(Option.none<Keys>())

  const fetch = Effect.fnUntraced(function*(url: string) {
    const { keys: all } = yield* requestProvider(client, HttpClientRequest.get(url), KeySet).pipe(
      Effect.catchTag("ProviderRefused", () => Effect.fail(unusable()))
    )
    // Keys of other kinds are ignored (RFC 7517, 5), as are unknown members.
    const keys = all.flatMap((key) => Option.toArray(decodeKey(key)))
    if (keys.length === 0) return yield* unusable()
    const fetched: Keys = {
      resolve: createLocalJWKSet({ keys }),
      ids: new Set(keys.map(({ kid }) => kid)),
      freshUntil: (yield* Clock.currentTimeMillis) + Duration.toMillis(FRESH)
    }
    yield* Ref.set(latest, Option.some(fetched))
    return fetched
  })

  const attempts = yield* Cache.makeWith(fetch, {
    capacity: 1,
    timeToLive: (exit) => Exit.isFailure(exit) && Option.isNone(Ref.getUnsafe(latest)) ? Duration.zero : COOL_DOWN
  })

  return Effect.fnUntraced(function*(url: URL, id: string | undefined) {
    const now = yield* Clock.currentTimeMillis
    const kept = Option.filter(yield* Ref.get(latest), ({ ids }) => id === undefined || ids.has(id))
    if (Option.isSome(kept) && now < kept.value.freshUntil) return kept.value.resolve
    const { resolve } = yield* Cache.get(attempts, url.href).pipe(
      Effect.catch((error) => Option.isSome(kept) ? Effect.succeed(kept.value) : Effect.fail(error))
    )
    return resolve
  })
})
