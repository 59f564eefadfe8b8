import { Context } from "effect"
import type { OpenApi } from "effect/http-api"
import { inWords, TOKEN_EXPIRY_NOTICE } from "../../schema/Limits.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { SERVICE_NAME } from "../../schema/ServiceName.ts"
import { DEVICE_COOKIE, SESSION_COOKIE, StaleCookie } from "../api/Access.ts"
import { type HeaderName, HEADERS, OwnHeaders } from "../api/Headers.ts"
import { JsonBody } from "../api/Requests.ts"
import type { Declared } from "./Declared.ts"

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example })
const count = (description: string, example: number) => ({
  description,
  schema: { type: "integer", minimum: 0 },
  example
})

export const HEADER_COMPONENTS = {
  [HEADERS.allowCredentials.name]: text("Where the operator has listed the origin of the request", "true"),
  [HEADERS.allowOrigin.name]: text(
    "`*` where the request has no cookie; the origin of the request where the operator has listed it",
    "*"
  ),
  [HEADERS.contentSecurityPolicy.name]: text("What a browser may do with the response: nothing", "default-src 'none'"),
  [HEADERS.contentTypeOptions.name]: text("`Content-Type` is right", "nosniff"),
  [HEADERS.exposeHeaders.name]: text("The headers that scripts of other origins may read", "ETag, Link, Location"),
  [HEADERS.requestId.name]: text(
    "The trace id of the request, by which an operator finds it (W3C Trace Context)",
    "4bf92f3577b34da6a3ce929d0e0e4736"
  ),
  [HEADERS.referrerPolicy.name]: text("Addresses have tokens, which no other site may see", "no-referrer"),
  [HEADERS.strictTransportSecurity.name]: text("Where the service is reached by https", "max-age=63072000"),
  [HEADERS.vary.name]: text("The headers of the request that the response depends on", "Authorization, Cookie"),
  [HEADERS.contentDisposition.name]: text(
    "The name of the file (RFC 6266)",
    "attachment; filename=\"Around Vaduz.gpx\""
  ),
  [HEADERS.cacheControl.name]: text(
    "`no-cache`: may be stored, and is validated before each use. `no-store` for what is private",
    "no-cache"
  ),
  [HEADERS.etag.name]: text(
    "The version, for `If-Match` and `If-None-Match`; of a list a checksum, for `If-None-Match` only",
    "W/\"3-full-8f0b3a1c@2025-06-01T08:30:00.000Z\""
  ),
  [HEADERS.ignoredMembers.name]: text(
    "Members of the body, of up to 64 KiB, that the endpoint does not know and has ignored; not those that its responses have",
    "favorite (did you mean favourite?)"
  ),
  [HEADERS.link.name]: text(
    "The pages around this one: `first`, `prev`, `next`, `last` (RFC 8288). `next` has a `cursor`, which neither skips nor "
      + "repeats an item when others are added or deleted meanwhile; of a page that was requested by `offset` it has an "
      + "`offset`. A page by `cursor` has neither `first`, `prev` nor `last`, which count from the start of the list. A page of long routes may end before its limit: `next` begins where it "
      + "ended; `prev` and `last` count in whole limits, and a page that they lead to may have a `next`",
    "<https://routes.example.com/api/v1/routes?limit=100&cursor=AQtBN8eWUZDkvO57gOXHExpb>; rel=\"next\""
  ),
  [HEADERS.location.name]: text("The URL of what was made, or of the list that has it", "/api/v1/routes/12"),
  [HEADERS.rateLimit.name]: text(
    "What is left in this window, and when it ends, in seconds",
    "\"GET /api/v1/routes\";r=59;t=60"
  ),
  [HEADERS.rateLimitPolicy.name]: text(
    "The limit and its window in seconds. Its name is that of the endpoint, which counts for itself",
    "\"GET /api/v1/routes\";q=60;w=60"
  ),
  [HEADERS.retryAfter.name]: count("Seconds until a retry", 42),
  [HEADERS.robots.name]: text("Where the route is not public", "noindex"),
  [HEADERS.setCookie.name]: text(
    `The session cookie with a fresh JWT; after a sign-in also \`${DEVICE_COOKIE}\``,
    `${SESSION_COOKIE}=eyJ...; Max-Age=900; Path=/; ...`
  ),
  [HEADERS.wwwAuthenticate.name]: text("Which credentials are accepted", `Bearer realm="${SERVICE_NAME}"`),
  [HEADERS.accessToken.name]: text("A fresh JWT, where the session came as a bearer token", "eyJ..."),
  [HEADERS.tokenExpiresAt.name]: text(
    `When the personal access token of the request expires, in the last ${inWords(TOKEN_EXPIRY_NOTICE)} before`,
    "2026-12-01T08:30:00.000Z"
  ),
  [HEADERS.cache.name]: {
    description: "`hit`: from the cache; `miss`: from the engine",
    schema: { type: "string", enum: ["hit", "miss"] },
    example: "miss"
  },
  [HEADERS.totalCount.name]: count(
    "How many items the list has with the filters of the request, on all pages together",
    137
  )
}

/** Every response has these headers, or could. */
export const COMMON_HEADERS = [
  HEADERS.allowCredentials.name,
  HEADERS.allowOrigin.name,
  HEADERS.cacheControl.name,
  HEADERS.contentSecurityPolicy.name,
  HEADERS.contentTypeOptions.name,
  HEADERS.exposeHeaders.name,
  HEADERS.referrerPolicy.name,
  HEADERS.requestId.name,
  HEADERS.strictTransportSecurity.name,
  HEADERS.vary.name
]

export const references = (names: ReadonlyArray<HeaderName>) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const bodySchema = (response: OpenApi.OpenApiSpecResponse) => response.content?.[MEDIA_TYPES.json]?.schema ?? {}

const isVersioned = (schema: object) =>
  /"#\/components\/schemas\/(Route|CreatedRoute|ImportedRoutes|Collection|ElevationProfile)"/.test(
    JSON.stringify(schema)
  )

const isFile = ({ content }: OpenApi.OpenApiSpecResponse) =>
  Object.keys(content ?? {}).some((type) =>
    type.startsWith("application/") && type !== MEDIA_TYPES.json && type !== MEDIA_TYPES.lines
  )

const when = (condition: boolean, ...names: ReadonlyArray<HeaderName>) => condition ? names : []

const hasParameter = ({ parameters }: OpenApi.OpenAPISpecOperation, wanted: string) =>
  parameters.some(({ name }) => name === wanted)

/** Returns true if the response has an entity tag, by which a later request gets 304. */
export const isTagged = (
  response: OpenApi.OpenApiSpecResponse,
  operation: OpenApi.OpenAPISpecOperation,
  { endpoint }: Declared
): boolean => {
  const schema = bodySchema(response)
  const isArchive = response.content?.[MEDIA_TYPES.zip] !== undefined
  return (isVersioned(schema) && !("items" in schema)) || hasParameter(operation, "offset")
    || (isFile(response) && !isArchive)
    || Context.get(endpoint.annotations, OwnHeaders).includes(HEADERS.etag.name)
}

/** Responses of any status have the headers of the caller and of its limit. */
const callerHeaders = ({ callers, middleware, rateLimit }: Declared): ReadonlyArray<HeaderName> => {
  const isSession = callers.kind !== "anyone" && callers.kind !== "signed-out"
  return [
    ...when(isSession, HEADERS.accessToken.name),
    ...when(isSession || middleware.has(StaleCookie.key), HEADERS.setCookie.name),
    ...when(callers.kind === "caller" || callers.kind === "visitor", HEADERS.tokenExpiresAt.name),
    ...when(rateLimit !== undefined, HEADERS.rateLimit.name, HEADERS.rateLimitPolicy.name),
    ...when(middleware.has(JsonBody.key), HEADERS.ignoredMembers.name)
  ]
}

export const responseHeaders = (
  status: number,
  response: OpenApi.OpenApiSpecResponse,
  operation: OpenApi.OpenAPISpecOperation,
  declared: Declared
): ReadonlyArray<HeaderName> => {
  const isOne = isTagged(response, operation, declared)
  return [
    ...COMMON_HEADERS,
    ...callerHeaders(declared),
    ...when(isOne, HEADERS.etag.name),
    ...when(status === 201, HEADERS.location.name),
    ...when(hasParameter(operation, "offset"), HEADERS.totalCount.name, HEADERS.link.name),
    ...when(isFile(response), HEADERS.contentDisposition.name),
    ...when(isOne && isFile(response), HEADERS.robots.name),
    ...when(JSON.stringify(bodySchema(response)).includes("/SignIn\""), HEADERS.setCookie.name),
    ...Context.get(declared.endpoint.annotations, OwnHeaders)
  ]
}

export const notModifiedHeaders = (declared: Declared): ReadonlyArray<HeaderName> => [
  ...COMMON_HEADERS,
  ...callerHeaders(declared),
  HEADERS.etag.name
]

/** Operations share the responses of errors. */
export const errorHeaders = (status: number): ReadonlyArray<HeaderName> => [
  ...COMMON_HEADERS,
  HEADERS.accessToken.name,
  HEADERS.ignoredMembers.name,
  HEADERS.rateLimit.name,
  HEADERS.rateLimitPolicy.name,
  HEADERS.setCookie.name,
  HEADERS.tokenExpiresAt.name,
  ...when(status === 401, HEADERS.wwwAuthenticate.name),
  ...when(status === 429 || status === 503, HEADERS.retryAfter.name)
]
