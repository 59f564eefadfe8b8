import { Context, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiMiddleware } from "effect/http-api"
import type { Scope } from "../../schema/Credential.ts"
import { RATE_TIERS, RATE_WINDOW_SECONDS, type RateTier } from "../../schema/Limits.ts"
import {
  AddressLimit,
  CallerAuthentication,
  OpenWhilePending,
  OptionalAuthentication,
  RequiredScope,
  Tier,
  TokensRefused
} from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { BodyLimit, CommonFailures, JsonBody, NoParameters } from "../api/Requests.ts"

/** `session` refuses personal access tokens. */
type Callers =
  | { readonly kind: "anyone" | "signed-out" | "visitor" | "session" }
  | { readonly kind: "caller"; readonly scope: Scope }

export interface Declared {
  readonly callers: Callers
  readonly isOpenWhilePending: boolean
  readonly rateLimit: RateLimit | undefined
  readonly bodyLimit: number | undefined
  /** An endpoint may cause fewer statuses than its middleware declares. */
  readonly errors: ReadonlySet<number>
  readonly endpoint: HttpApiEndpoint.Top
  readonly middleware: ReadonlySet<string>
}

interface RateLimit {
  readonly tier: RateTier
  readonly limit: number
  readonly windowSeconds: number
  readonly isByAddress: boolean
}

type Middleware = ReadonlySet<HttpApiMiddleware.AnyService>

const statusesOf = (errors: HttpApiEndpoint.Top["error"]) =>
  [...errors].map((error) => Schema.resolveAnnotations(error)?.httpApiStatus ?? 500)

const uses = (middleware: Middleware, { key }: { readonly key: string }) =>
  [...middleware].some((each) => each.key === key)

const declares = (middleware: Middleware, status: number) =>
  [...middleware].some(({ error }) => statusesOf(error).includes(status))

const callersOf = (endpoint: HttpApiEndpoint.Top, middleware: Middleware): Callers => {
  if (uses(middleware, OptionalAuthentication)) return { kind: "visitor" }
  if (uses(middleware, CallerAuthentication)) {
    return { kind: "caller", scope: Context.get(endpoint.annotations, RequiredScope) }
  }
  if (uses(middleware, TokensRefused)) return { kind: "signed-out" }
  return { kind: declares(middleware, 401) ? "session" : "anyone" }
}

const rateLimitOf = (endpoint: HttpApiEndpoint.Top, middleware: Middleware): RateLimit | undefined => {
  if (!declares(middleware, 429)) return undefined
  const tier = Context.get(endpoint.annotations, Tier)
  return {
    tier,
    limit: RATE_TIERS[tier],
    windowSeconds: RATE_WINDOW_SECONDS,
    isByAddress: uses(middleware, AddressLimit)
  }
}

const hasBody = ({ payload }: HttpApiEndpoint.Top) => payload.size > 0

/** Middleware also declares errors that an endpoint cannot cause. */
const isPossible = (endpoint: HttpApiEndpoint.Top, middleware: string, status: number): boolean => {
  const { annotations, query } = endpoint
  switch (middleware) {
    case NoParameters.key:
      return query === undefined
    case JsonBody.key:
      return hasBody(endpoint)
    case CommonFailures.key:
      return status !== 400 || hasBody(endpoint) || query !== undefined
    case CallerAuthentication.key:
      return status !== 403 || Context.get(annotations, RequiredScope) === "write"
        || !Context.get(annotations, OpenWhilePending)
    default:
      return true
  }
}

const errorsOf = (endpoint: HttpApiEndpoint.Top, middleware: Middleware) =>
  new Set([
    ...statusesOf(endpoint.error),
    ...[...middleware].flatMap(({ error, key }) =>
      statusesOf(error).filter((status) => isPossible(endpoint, key, status))
    )
  ])

const declaredOf = (endpoint: HttpApiEndpoint.Top, middleware: Middleware): Declared => ({
  callers: callersOf(endpoint, middleware),
  isOpenWhilePending: Context.get(endpoint.annotations, OpenWhilePending),
  rateLimit: rateLimitOf(endpoint, middleware),
  bodyLimit: hasBody(endpoint) ? Context.get(endpoint.annotations, BodyLimit) : undefined,
  errors: errorsOf(endpoint, middleware),
  endpoint,
  middleware: new Set([...middleware].map(({ key }) => key))
})

/** Keys are operation ids. */
export const declaredEndpoints = (): ReadonlyMap<string, Declared> => {
  const endpoints = new Map<string, Declared>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group, middleware }) => {
      endpoints.set(`${group.identifier}.${endpoint.identifier}`, declaredOf(endpoint, middleware))
    }
  })
  return endpoints
}
