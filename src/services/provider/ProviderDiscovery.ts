import { Cache, Duration, Effect, Exit, Schema } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { requestProvider, unusable } from "./ProviderCalls.ts"

const KEPT = Duration.hours(1)

const Document = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: Schema.URLFromString,
  jwks_uri: Schema.URLFromString
})

const withoutFinalSlash = (text: string) => text.replace(/\/$/, "")

/** OpenID Connect Discovery 1.0, 4. Cached for an hour, not for a failure; concurrent calls share one request. */
export const makeProviderDiscovery = Effect.fnUntraced(function*(client: HttpClient.HttpClient, url: URL) {
  // A parsed URL without a path has a final slash; the document knows whether it was written.
  const expected = withoutFinalSlash(url.href)

  const discover = Effect.fnUntraced(function*(issuer: string) {
    const request = HttpClientRequest.get(`${issuer}/.well-known/openid-configuration`)
    const document = yield* requestProvider(client, request, Document).pipe(
      Effect.catchTag("ProviderRefused", () => Effect.fail(unusable()))
    )
    if (withoutFinalSlash(document.issuer) !== issuer) return yield* unusable()
    return document
  })

  const documents = yield* Cache.makeWith(discover, {
    capacity: 1,
    timeToLive: (exit) => Exit.isSuccess(exit) ? KEPT : Duration.zero
  })

  return () => Cache.get(documents, expected)
})
