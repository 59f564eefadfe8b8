import { Effect, Schema } from "effect"
import type { HttpClient, HttpClientRequest } from "effect/http"
import { UpstreamUnusable } from "../DomainErrors.ts"
import { requestJson } from "../upstream/Upstream.ts"

/** Its documents have some KiB, and what is read of a body without end is garbage that costs collections of the whole heap. */
const PROVIDER = {
  name: "The identity provider",
  timeout: "5 seconds",
  maxBytes: 1024 * 1024,
  maxUndeclaredBytes: 128 * 1024
} as const

/** Without the text of the provider. */
class ProviderRefused extends Schema.TaggedError<ProviderRefused>()("ProviderRefused", {
  status: Schema.Int
}) {}

export const unusable = () => new UpstreamUnusable({ name: PROVIDER.name })

export const requestProvider = Effect.fnUntraced(function*<A>(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  response: Schema.Codec<A, unknown>
) {
  const { body, status } = yield* requestJson(client, request, PROVIDER)
  if (status >= 400) return yield* new ProviderRefused({ status })
  return yield* Effect.mapError(Schema.decodeUnknownEffect(response)(body), unusable)
})
