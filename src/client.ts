import { Clock, Duration, Effect, Option, Redacted, Ref, Result } from "effect"
import {
  Cookies,
  Headers,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "./http/api/Api.ts"
import { SESSION_COOKIE } from "./http/api/Authentication.ts"
import { HEADERS } from "./http/api/Headers.ts"

interface ClientOptions {
  /** Where the service is, without `/api/v1`. */
  readonly baseUrl: URL | string
  /** A personal access token, or the JWT of a session. Without one the client is nobody until it signs in. */
  readonly token?: Redacted.Redacted
  /** How many times a call that was refused for its rate (429) is made again; 3 if absent. */
  readonly retries?: number
  /** How long a call may wait for that in all; 2 minutes if absent, twice the service's window. */
  readonly patience?: Duration.Input
}

type Answer = HttpClientResponse.HttpClientResponse
type Send = Effect.Effect<Answer, HttpClientError.HttpClientError>

const retryAfter = (answer: Answer) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const header = Headers.parseRetryAfter(answer.headers[HEADERS.retryAfter.key] ?? "")
    return Result.isSuccess(header) ? Headers.retryAfterDelay(header.success, now) : Duration.infinity
  })

/** Asks again when the service says to; the last answer is the answer. A refused call has done nothing. */
const patiently = (send: Send, retries: number, patience: Duration.Duration): Send =>
  Effect.gen(function*() {
    const answer = yield* send
    if (answer.status !== 429 || retries === 0) return answer
    const wait = yield* retryAfter(answer)
    if (Duration.isGreaterThan(wait, patience)) return answer
    // Its connection is free for others only when the refusal is read.
    yield* Effect.andThen(answer.text, Effect.sleep(wait))
    return yield* patiently(send, retries - 1, Duration.subtract(patience, wait))
  })

/** The token that an answer leaves its client with; undefined where it says nothing of it. */
const tokenAfter = ({ cookies, headers }: Answer): Option.Option<Redacted.Redacted> | undefined => {
  const token = headers[HEADERS.accessToken.key] ?? Option.getOrUndefined(Cookies.getValue(cookies, SESSION_COOKIE))
  return token === undefined ? undefined : Option.map(Option.liftPredicate(token, (text) => text !== ""), Redacted.make)
}

/** Sends the token that there is, and keeps the one that comes back. */
const withToken = (token: Ref.Ref<Option.Option<Redacted.Redacted>>) => (client: HttpClient.HttpClient) =>
  client.pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(
        Ref.get(token),
        Option.match({ onNone: () => request, onSome: (value) => HttpClientRequest.bearerToken(request, value) })
      )
    ),
    HttpClient.tap((answer) => {
      const next = tokenAfter(answer)
      return next === undefined ? Effect.void : Ref.set(token, next)
    })
  )

/**
 * A typed client of the whole contract. Calls fail with the classes of `schema/Errors.ts`.
 *
 * A session renews itself: each answer brings a fresh JWT (15 minutes), which the next call sends. Signing in gives the
 * client its session, signing out takes it away; a browser's own cookie does that where it hides the answer's from us.
 */
export const makeClient = (
  { baseUrl, patience = "2 minutes", retries = 3, token }: ClientOptions
): Effect.Effect<HttpApiClient.ForApi<typeof Api>, never, HttpClient.HttpClient> =>
  Effect.flatMap(Ref.make(Option.fromUndefinedOr(token)), (held) =>
    HttpApiClient.make(Api, {
      baseUrl,
      transformClient: (client) =>
        client.pipe(
          HttpClient.transform((send) => patiently(send, retries, Duration.fromInputUnsafe(patience))),
          withToken(held)
        )
    }))
