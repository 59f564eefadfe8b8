import { type Duration, Effect, Schema, Stream } from "effect"
import type { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { BadGateway, GatewayTimeout, Unavailable } from "../../schema/Errors.ts"

/** A service that we ask, and what we put up with from it. */
interface Upstream {
  /** What it is to a client of ours; its host is nobody's business. */
  readonly name: string
  readonly timeout: Duration.Input
  readonly maxBytes: number
}

/** A response that was read whole, of a status below 500 that is no redirect. */
export interface TextAnswer {
  readonly status: number
  readonly text: string
}

/** The same of which the text is JSON. */
interface Answer {
  readonly status: number
  readonly body: unknown
}

export type UpstreamFailure = BadGateway | Unavailable | GatewayTimeout

const garbage = ({ name }: Upstream) => new BadGateway({ message: `${name} gave an answer that cannot be used` })

const away = ({ name }: Upstream) => new Unavailable({ message: `${name} is not reachable` })

/** Of a server that starts, ends or has too much to do. */
const SERVICE_UNAVAILABLE = 503

const isUsable = ({ status }: HttpClientResponse.HttpClientResponse) => status < 300 || (status >= 400 && status < 500)

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** Reading that is interrupted ends the connection, where an unread response would keep it until it is collected. */
export const hangUp = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.raceFirst(Effect.ignore(response.text), Effect.void)

/** A response with a `Content-Length` need not be counted piece by piece, and not read at all if it is too long. */
const readText = (
  response: HttpClientResponse.HttpClientResponse,
  upstream: Upstream
): Effect.Effect<string, BadGateway> => {
  const declared = Number(response.headers["content-length"] ?? Number.NaN)
  if (declared > upstream.maxBytes) return Effect.andThen(hangUp(response), Effect.fail(garbage(upstream)))
  return declared <= upstream.maxBytes
    ? Effect.mapError(response.text, () => garbage(upstream))
    : response.stream.pipe(
      Stream.mapError(() => garbage(upstream)),
      Stream.limitBytes(upstream.maxBytes, () => Stream.fail(garbage(upstream))),
      Stream.decodeText,
      Stream.mkString
    )
}

/**
 * Asks a service that we depend on: one try, in the time given, with an answer of bounded size. Redirects are not
 * followed. Unreachable, by its own word too, is `Unavailable`, too slow `GatewayTimeout`; a redirect and an error of its
 * own is `BadGateway`. No error contains a part of the request or of the response.
 */
export const askText = (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  upstream: Upstream
): Effect.Effect<TextAnswer, UpstreamFailure> =>
  Effect.gen(function*() {
    const response = yield* client.execute(request).pipe(
      Effect.mapError(({ reason }) => reason._tag === "TransportError" ? away(upstream) : garbage(upstream))
    )
    if (!isUsable(response)) {
      yield* hangUp(response)
      return yield* response.status === SERVICE_UNAVAILABLE ? away(upstream) : garbage(upstream)
    }
    return { status: response.status, text: yield* readText(response, upstream) }
  }).pipe(
    Effect.timeoutOrElse({
      duration: upstream.timeout,
      orElse: () => Effect.fail(new GatewayTimeout({ message: `${upstream.name} did not answer in time` }))
    })
  )

/** The JSON of a response. Anything that is not JSON is `BadGateway`. */
export const bodyOf = ({ text }: TextAnswer, upstream: Upstream): Effect.Effect<unknown, BadGateway> =>
  Effect.mapError(decodeJson(text), () => garbage(upstream))

/** Asks as `askText` does, for JSON. */
export const ask = Effect.fnUntraced(function*(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  upstream: Upstream
): Effect.fn.Return<Answer, UpstreamFailure> {
  const answer = yield* askText(client, request, upstream)
  return { status: answer.status, body: yield* bodyOf(answer, upstream) }
})
