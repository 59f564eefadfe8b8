import { Effect, Schema, Stream } from "effect"
import { HttpClient, type HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { BadGateway, GatewayTimeout, Unavailable } from "../schema/Errors.ts"

const PATIENCE = "5 seconds"

const LARGEST_ANSWER = "1 MiB"

/** The provider understood a request and will not fulfil it (4xx). What it said stays with it. */
class ProviderRefused extends Schema.TaggedError<ProviderRefused>()("ProviderRefused", {
  status: Schema.Int
}) {}

/** The provider answered, but with nothing that can be used. */
export const unusable = () => new BadGateway({ message: "The identity provider gave an answer that could not be used" })

// These are made from nothing but a tag and a status: an HttpClientError holds the request, and with it the secrets.
const failureOf = ({ reason }: HttpClientError.HttpClientError) => {
  if (reason._tag === "TransportError") return new Unavailable({ message: "The identity provider cannot be reached" })
  return reason._tag === "StatusCodeError" && reason.response.status >= 400 && reason.response.status < 500
    ? new ProviderRefused({ status: reason.response.status })
    : unusable()
}

// Read as a stream, because the undici client does not honour `HttpIncomingMessage.MaxBodySize`.
const textOf = (response: HttpClientResponse.HttpClientResponse) =>
  response.stream.pipe(
    Stream.mapError(unusable),
    Stream.limitBytes(LARGEST_ANSWER, () => Stream.fail(unusable())),
    Stream.decodeText,
    Stream.mkString
  )

/** One call to a provider: in bounded time, with an answer of bounded size, which must be JSON of the given shape. */
export const askProvider = <A>(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  answer: Schema.Codec<A, unknown>
) =>
  // The scope ends the connection of an answer that is not read to its end.
  HttpClient.withScope(client).execute(request).pipe(
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.mapError(failureOf),
    Effect.flatMap(textOf),
    Effect.flatMap((text) => Effect.mapError(Schema.decodeEffect(Schema.fromJsonString(answer))(text), unusable)),
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: PATIENCE,
      orElse: () => Effect.fail(new GatewayTimeout({ message: "The identity provider did not answer in time" }))
    })
  )
