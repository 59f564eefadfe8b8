import { type Duration, Effect, Schema, Stream } from "effect"
import type { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { UpstreamAway, UpstreamSlow, UpstreamUnusable } from "../DomainErrors.ts"

interface Upstream {
  /** Clients see the name, unlike the host. */
  readonly name: string
  readonly timeout: Duration.Input
  readonly maxBytes: number
  /** A response that does not declare its length has a smaller limit. */
  readonly maxUndeclaredBytes?: number
}

export interface TextResponse {
  readonly status: number
  readonly text: string
}

export type UpstreamFailure = UpstreamUnusable | UpstreamAway | UpstreamSlow

const garbage = ({ name }: Upstream) => new UpstreamUnusable({ name })

const away = ({ name }: Upstream) => new UpstreamAway({ name })

const SERVICE_UNAVAILABLE = 503

const isUsable = ({ status }: HttpClientResponse.HttpClientResponse) => status < 300 || (status >= 400 && status < 500)

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))

/** Interrupted reading ends the connection, which an unread response would keep until garbage collection. */
export const hangUp = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.raceFirst(Effect.ignore(response.text), Effect.void)

const readText = (response: HttpClientResponse.HttpClientResponse, upstream: Upstream) => {
  const declared = Number(response.headers["content-length"] ?? Number.NaN)
  const { maxBytes, maxUndeclaredBytes = maxBytes } = upstream
  if (declared > maxBytes) return Effect.andThen(hangUp(response), Effect.fail(garbage(upstream)))
  return declared <= maxBytes
    ? Effect.mapError(response.text, () => garbage(upstream))
    : response.stream.pipe(
      Stream.mapError(() => garbage(upstream)),
      Stream.limitBytes(maxUndeclaredBytes, () => Stream.fail(garbage(upstream))),
      Stream.decodeText,
      Stream.mkString
    )
}

/**
 * Sends one request, with a timeout and a bounded response; redirects are not followed. Unreachable and 503 are
 * `UpstreamAway`, a timeout `UpstreamSlow`, redirects and other 5xx `UpstreamUnusable`. Errors contain nothing of the
 * request or the response.
 */
export const requestText = (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  upstream: Upstream
): Effect.Effect<TextResponse, UpstreamFailure> =>
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
      orElse: () => Effect.fail(new UpstreamSlow({ name: upstream.name }))
    })
  )

export const bodyOf = ({ text }: TextResponse, upstream: Upstream): Effect.Effect<unknown, UpstreamUnusable> =>
  Effect.mapError(decodeJson(text), () => garbage(upstream))

export const requestJson = Effect.fnUntraced(function*(
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  upstream: Upstream
) {
  const response = yield* requestText(client, request, upstream)
  return { status: response.status, body: yield* bodyOf(response, upstream) }
})
