import { Effect, Schema } from "effect"
import type { HttpClient, HttpClientRequest } from "effect/http"
import { BadGateway } from "../../schema/Errors.ts"
import { ask } from "../upstream/Upstream.ts"

const PROVIDER = { name: "The identity provider", timeout: "5 seconds", maxBytes: 1024 * 1024 } as const

/** The provider understood a request and will not fulfil it (4xx). What it said stays with it. */
class ProviderRefused extends Schema.TaggedError<ProviderRefused>()("ProviderRefused", {
  status: Schema.Int
}) {}

/** The provider answered, but with nothing that can be used. */
export const unusable = () => new BadGateway({ message: "The identity provider gave an answer that cannot be used" })

/** One call to a provider, whose answer must be of the given shape. */
export const askProvider = Effect.fnUntraced(function*<A>(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  answer: Schema.Codec<A, unknown>
) {
  const { body, status } = yield* ask(client, request, PROVIDER)
  if (status >= 400) return yield* new ProviderRefused({ status })
  return yield* Effect.mapError(Schema.decodeUnknownEffect(answer)(body), unusable)
})
