import { Clock, Context, Duration, Effect, Exit, Layer, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Forbidden, Unauthorized } from "../../schema/Errors.ts"
import { isSafe } from "../../schema/Http.ts"
import { TOKEN_EXPIRY_NOTICE } from "../../schema/Limits.ts"
import type { Principal, SessionPrincipal, TokenPrincipal } from "../../schema/Principal.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"
import { looksLikeToken, PersonalAccessTokens } from "../../services/accounts/Tokens.ts"
import { DatabaseReadOnly } from "../../services/db/DatabaseErrors.ts"
import { Pseudonyms } from "../../services/identity/Names.ts"
import { RequestNotes } from "../../services/operations/RequestNotes.ts"
import { OpenWhenOver, SESSION_COOKIE } from "../api/Access.ts"
import { HEADERS } from "../api/Headers.ts"
import { CrossSite } from "../middleware/CrossSite.ts"
import type { Endpoint } from "../middleware/RateLimit.ts"
import { noteCredential } from "../request/AddressShares.ts"
import { changeResponse, varyingBy } from "../request/ResponseChange.ts"
import { worded } from "../response/PublicErrors.ts"
import { bearerToken, clearSessionCookie, setSessionCookie, withoutRenewal } from "./Credentials.ts"

/** A request that needs no session waits no longer for an unreachable database. */
const COOKIE_TIMEOUT = Duration.seconds(1)

const EXPIRY_NOTICE = Duration.toMillis(TOKEN_EXPIRY_NOTICE)

const refused = () =>
  new Unauthorized({ message: "The session is invalid, expired or revoked", details: { reason: "session_invalid" } })

const malformed = () =>
  new Unauthorized({
    message: "Authorization: expected Bearer, a space and a personal access token or the JWT of a session",
    details: { reason: "authorization_malformed" }
  })

const varyOf = varyingBy(["Authorization", "Cookie"])

const varyByCredential = changeResponse((response) =>
  HttpServerResponse.setHeader(response, HEADERS.vary.key, varyOf(response))
)

/** After a 5xx the client keeps its token. */
const unlessServerError = (
  change: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
) => changeResponse((response) => response.status >= 500 ? response : change(response))

/** Every response to a token that expires soon names its expiry. */
const noteExpiry = Effect.fnUntraced(function*({ expiresAt }: TokenPrincipal) {
  if (expiresAt === null) return
  const left = Date.parse(expiresAt) - (yield* Clock.currentTimeMillis)
  if (left <= EXPIRY_NOTICE) {
    yield* changeResponse((response) => HttpServerResponse.setHeader(response, HEADERS.tokenExpiresAt.key, expiresAt))
  }
})

const isOpen = ({ deletion }: SessionPrincipal, endpoint: Endpoint) =>
  deletion !== "over" || Context.get(endpoint.annotations, OpenWhenOver)

/** Authenticates requests by session, which the response refreshes, or by personal access token. */
export class Authenticator extends Context.Service<Authenticator, {
  /** Returns none without a credential. Fails with `Unauthorized` (invalid or ended) or `Forbidden` (cross-site). */
  readonly read: (endpoint: Endpoint) => Effect.Effect<
    Option.Option<Principal>,
    Unauthorized | Forbidden,
    HttpServerRequest.HttpServerRequest
  >
  /** Like `read`, but treats an invalid cookie as none; only `Authorization` can fail. */
  readonly readOptional: (endpoint: Endpoint) => Effect.Effect<
    Option.Option<Principal>,
    Unauthorized,
    HttpServerRequest.HttpServerRequest
  >
  /**
   * Reads the caller of a request that takes long again. A session counts by its id, since the token that the request
   * came with may have expired. Fails with `Unauthorized` if the session or token has ended.
   */
  readonly again: (
    principal: Principal,
    endpoint: Endpoint
  ) => Effect.Effect<Principal, Unauthorized, HttpServerRequest.HttpServerRequest>
  /** Clears an invalid session cookie; keeps it while the database is unreachable. */
  readonly clearStaleCookie: (
    endpoint: Endpoint
  ) => Effect.Effect<void, never, HttpServerRequest.HttpServerRequest>
}>()("route-planning-service/Authenticator") {
  static readonly layer = Layer.effect(
    Authenticator,
    Effect.gen(function*() {
      const sessions = yield* Sessions
      const tokens = yield* PersonalAccessTokens
      const crossSite = yield* CrossSite
      const { idHash } = yield* Pseudonyms
      const isReadOnly = yield* DatabaseReadOnly

      // A standby may not know a session that another standby has stored as the new primary.
      const clearUnknown = Effect.flatMap(
        isReadOnly,
        (is) => is ? Effect.void : unlessServerError(clearSessionCookie)
      )

      const authenticate = Effect.fnUntraced(function*(token: string, endpoint: Endpoint) {
        const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
        const live = yield* sessions.authenticate(token, Option.getOrNull(remoteAddress))
        return Option.filter(live, ({ principal }) => isOpen(principal, endpoint))
      })

      const bySessionToken = Effect.fnUntraced(function*(token: string, endpoint: Endpoint) {
        const live = yield* authenticate(token, endpoint)
        if (Option.isNone(live)) return yield* refused()
        yield* unlessServerError(HttpServerResponse.setHeader(HEADERS.accessToken.key, live.value.freshToken))
        return live.value.principal
      })

      const byAccessToken = Effect.fnUntraced(function*(token: string) {
        const principal = yield* worded(tokens.authenticate(token))
        yield* noteExpiry(principal)
        return principal
      })

      const byBearer = (authorization: string, endpoint: Endpoint): Effect.Effect<
        Principal,
        Unauthorized,
        HttpServerRequest.HttpServerRequest
      > => {
        const token = bearerToken(authorization)
        if (token === undefined) return Effect.fail(malformed())
        return looksLikeToken(token) ? byAccessToken(token) : bySessionToken(token, endpoint)
      }

      const byCookie = Effect.fnUntraced(function*(
        request: HttpServerRequest.HttpServerRequest,
        token: string,
        endpoint: Endpoint
      ) {
        if (!isSafe(request.method)) yield* crossSite.check(request)
        const live = yield* authenticate(token, endpoint)
        if (Option.isNone(live)) {
          yield* clearUnknown
          return yield* refused()
        }
        yield* unlessServerError(setSessionCookie(live.value.freshToken))
        return live.value.principal
      })

      const noted = <E, R>(principal: Effect.Effect<Principal, E, R>) =>
        Effect.tap(principal, (known) =>
          Effect.map(RequestNotes, (notes) => {
            const account = { idHash: idHash(known.userId) }
            notes.caller = known.kind === "token"
              ? { ...account, token: known.tokenId }
              : { ...account, session: known.sessionId }
          }))

      type ByCookie = Effect.Effect<Principal, Unauthorized | Forbidden, HttpServerRequest.HttpServerRequest>
      const reading = <E>(
        decided: (byCookie: ByCookie) => Effect.Effect<Option.Option<Principal>, E, Effect.Services<ByCookie>>
      ) =>
        Effect.fnUntraced(function*(endpoint: Endpoint) {
          yield* varyByCredential
          const request = yield* HttpServerRequest.HttpServerRequest
          const authorization = request.headers["authorization"]
          if (authorization !== undefined) return Option.some(yield* noted(byBearer(authorization, endpoint)))
          const cookie = crossSite.isForeignRead(request) ? undefined : request.cookies[SESSION_COOKIE]
          return cookie === undefined ? Option.none() : yield* decided(noted(byCookie(request, cookie, endpoint)))
        })

      return Authenticator.of({
        read: reading(Effect.asSome),
        readOptional: reading(Effect.option),
        again: Effect.fnUntraced(function*(principal, endpoint) {
          if (principal.kind === "token") {
            const { headers } = yield* HttpServerRequest.HttpServerRequest
            return yield* byBearer(headers["authorization"] ?? "", endpoint)
          }
          const live = Option.filter(yield* sessions.again(principal), (session) => isOpen(session, endpoint))
          if (Option.isSome(live)) return live.value
          yield* withoutRenewal
          return yield* refused()
        }),
        clearStaleCookie: Effect.fnUntraced(function*(endpoint) {
          const request = yield* HttpServerRequest.HttpServerRequest
          const cookie = request.cookies[SESSION_COOKIE]
          if (cookie === undefined || request.headers["authorization"] !== undefined) return
          if (crossSite.isForeignRead(request)) return
          const looked = yield* authenticate(cookie, endpoint).pipe(Effect.timeout(COOKIE_TIMEOUT), Effect.exit)
          if (Exit.isFailure(looked)) return
          yield* Option.isSome(looked.value) ? noteCredential : clearUnknown
        })
      })
    })
  ).pipe(Layer.provide(Pseudonyms.layer))
}
