import { Cache, Duration, Effect, Exit, Schema } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { askProvider, unusable } from "./ProviderCalls.ts"

const KEPT = Duration.hours(1)

/** OpenID Connect Discovery 1.0, 3; what we need of it. */
const Document = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: Schema.URLFromString,
  jwks_uri: Schema.URLFromString
})

const withoutFinalSlash = (text: string) => text.replace(/\/$/, "")

/**
 * Where a provider has what (OpenID Connect Discovery 1.0, 4), asked when it is first needed and kept for an hour. A
 * failure is not kept. Callers at one time share one fetch.
 */
export const makeProviderDiscovery = Effect.fnUntraced(function*(client: HttpClient.HttpClient, url: URL) {
  // A URL without a path has a final slash once it is parsed; whether it was written with one is known to the document.
  const expected = withoutFinalSlash(url.href)

  const discover = Effect.fnUntraced(function*(issuer: string) {
    const request = HttpClientRequest.get(`${issuer}/.well-known/openid-configuration`)
    const document = yield* askProvider(client, request, Document).pipe(
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
