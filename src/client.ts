import { Clock, Duration, Effect, Option, Redacted, Ref, Result, Stream } from "effect"
import {
  Cookies,
  Headers,
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { SESSION_COOKIE } from "./http/api/Access.ts"
import { Api } from "./http/api/Api.ts"
import { HEADERS } from "./http/api/Headers.ts"

export type Client = HttpApiClient.ForApi<typeof Api>

interface ClientOptions {
  readonly baseUrl: URL | string
  /** It is a personal access token or a session's JWT. Without it the client is anonymous until it signs in. */
  readonly token?: Redacted.Redacted
  /** A rate-limited call (429) is repeated at most this often; 3 times if absent. */
  readonly retries?: number
  /** All retries of a call together take at most this time; 2 minutes if absent, twice the service's window. */
  readonly retryTimeout?: Duration.Input
}

type Response = HttpClientResponse.HttpClientResponse
type Send = Effect.Effect<Response, HttpClientError.HttpClientError>

const retryAfter = (response: Response) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const header = Headers.parseRetryAfter(response.headers[HEADERS.retryAfter.key] ?? "")
    return Result.isSuccess(header) ? Headers.retryAfterDelay(header.success, now) : Duration.infinity
  })

const withRetries = (send: Send, retries: number, timeout: Duration.Duration): Send =>
  Effect.gen(function*() {
    const response = yield* send
    if (response.status !== 429 || retries === 0) return response
    const wait = yield* retryAfter(response)
    if (Duration.isGreaterThan(wait, timeout)) return response
    yield* Effect.andThen(response.text, Effect.sleep(wait))
    return yield* withRetries(send, retries - 1, Duration.subtract(timeout, wait))
  })

type Token = Option.Option<Redacted.Redacted>

/** A cookie signs in or out. A header renews the token of its call, which another one may have replaced meanwhile. */
const tokenAfter = ({ cookies, headers, request }: Response) => (present: Token): Token => {
  const cookie = Cookies.getValue(cookies, SESSION_COOKIE)
  if (Option.isSome(cookie)) return Option.map(Option.filter(cookie, (text) => text !== ""), Redacted.make)
  const renewed = headers[HEADERS.accessToken.key]
  return Option.map(
    present,
    (token) =>
      renewed !== undefined && request.headers["authorization"] === `Bearer ${Redacted.value(token)}`
        ? Redacted.make(renewed)
        : token
  )
}

const withToken = (token: Ref.Ref<Token>) => (client: HttpClient.HttpClient) =>
  client.pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(
        Ref.get(token),
        Option.match({ onNone: () => request, onSome: (value) => HttpClientRequest.bearerToken(request, value) })
      )
    ),
    HttpClient.tap((response) => Ref.update(token, tokenAfter(response)))
  )

/**
 * Makes a typed client of the whole contract. Calls fail with the classes of `schema/Errors.ts`. A session renews
 * itself: each response brings a fresh JWT, which the next call sends. Signing in sets the JWT, signing out removes it;
 * in a browser the cookie does that.
 */
export const makeClient = (
  { baseUrl, retries = 3, retryTimeout = "2 minutes", token }: ClientOptions
): Effect.Effect<Client, never, HttpClient.HttpClient> =>
  Effect.flatMap(Ref.make(Option.fromUndefinedOr(token)), (current) =>
    HttpApiClient.make(Api, {
      baseUrl,
      transformClient: (client) =>
        client.pipe(
          HttpClient.transform((send) => withRetries(send, retries, Duration.fromInputUnsafe(retryTimeout))),
          withToken(current)
        )
    }))

/** A call of a list takes these members beside its own query. */
interface ListPage {
  /** This part of the query is empty for the first page. */
  readonly page: { readonly cursor?: string }
  readonly responseMode: "decoded-and-response"
}

type List<A, E, R> = (call: ListPage) => Effect.Effect<readonly [ReadonlyArray<A>, Response], E, R>

const nextPage = ({ headers }: Response): Option.Option<ListPage["page"]> => {
  const next = /<([^>]*)>; rel="next"/.exec(headers[HEADERS.link.key] ?? "")?.[1]
  if (next === undefined) return Option.none()
  const cursor = new URLSearchParams(next.split("?")[1]).get("cursor")
  if (cursor === null) throw new Error("offset: a list that is read page after page by cursors takes none")
  return Option.some({ cursor })
}

/**
 * Returns all items of a list, page after page by their cursors. An item that exists throughout comes once, whatever is
 * added or deleted meanwhile.
 *
 * ```ts
 * streamList(({ page, responseMode }) => client.routes.list({ query: { q: "alp", ...page }, responseMode }))
 * ```
 */
export const streamList = <A, E, R>(list: List<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.paginate<ListPage["page"], A, E, R>({}, (page) =>
    Effect.map(
      list({ page, responseMode: "decoded-and-response" }),
      ([items, response]) => [items, nextPage(response)] as const
    ))
