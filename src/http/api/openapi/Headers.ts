import { Context } from "effect"
import type { OpenApi } from "effect/http-api"
import { MEDIA_TYPES } from "../../../schema/MediaTypes.ts"
import type { Declared } from "./Declared.ts"

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example })
const count = (description: string, example: number) => ({
  description,
  schema: { type: "integer", minimum: 0 },
  example
})

/** The headers of answers that mean something to a client. */
export const HEADERS = {
  "Content-Disposition": text("The name of the file (RFC 6266)", "attachment; filename=\"Around Vaduz.gpx\""),
  "ETag": text("The version, for `If-Match` and `If-None-Match`", "W/\"3-full-8f0b3a1c\""),
  "Link": text(
    "The pages around this one: `first`, `prev`, `next`, `last` (RFC 8288). A page of long routes may end before its limit: "
      + "`next` begins where it ended; `prev` and `last` count in whole limits, and a page that they lead to may have a `next`",
    "</api/v1/routes?limit=100&offset=100>; rel=\"next\""
  ),
  "Location": text("Where what was made is found", "/api/v1/routes/12"),
  "RateLimit": text("What is left in this window, and when it ends, in seconds", "\"moderate\";r=59;t=60"),
  "RateLimit-Policy": text("The limit and its window in seconds", "\"moderate\";q=60;w=60"),
  "Retry-After": count("Seconds until the next request may come", 42),
  "Set-Cookie": text(
    "The session cookie with a fresh JWT; after a sign-in also `__Host-service_device`",
    "__Host-service_session=eyJ...; Max-Age=900; Path=/; ..."
  ),
  "WWW-Authenticate": text("Which credentials would do", "Bearer realm=\"route-planning-service\""),
  "X-Access-Token": text("A fresh JWT, where the session came as a bearer token", "eyJ..."),
  "X-Cache": {
    description: "Whether the engine was asked",
    schema: { type: "string", enum: ["hit", "miss"] },
    example: "miss"
  },
  "X-Total-Count": count("How many there are on all pages", 137)
}

type Header = keyof typeof HEADERS

/** Headers of an endpoint's answer that follow from nothing else which it declares. */
export const OwnHeaders = Context.Reference<ReadonlyArray<Header>>("route-planning-service/OwnHeaders", {
  defaultValue: () => []
})

export const references = (names: ReadonlyArray<Header>) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const bodySchema = (response: OpenApi.OpenApiSpecResponse) => response.content?.[MEDIA_TYPES.json]?.schema ?? {}

const isVersioned = (schema: object) => /"#\/components\/schemas\/(Route|Collection)"/.test(JSON.stringify(schema))

const isFile = ({ content }: OpenApi.OpenApiSpecResponse) =>
  Object.keys(content ?? {}).some((type) => type.startsWith("application/") && type !== MEDIA_TYPES.json)

const when = (condition: boolean, ...names: ReadonlyArray<Header>) => condition ? names : []

/** The headers of an answer that is not an error: by what was asked for, what is answered and who asks. */
export const answerHeaders = (
  status: number,
  response: OpenApi.OpenApiSpecResponse,
  operation: OpenApi.OpenAPISpecOperation,
  { callers, endpoint, rateLimit }: Declared
): ReadonlyArray<Header> => {
  const schema = bodySchema(response)
  const isOne = isVersioned(schema) && !("items" in schema)
  const isSession = callers.kind !== "anybody" && callers.kind !== "signed-out"
  return [
    ...when(isOne, "ETag"),
    ...when(isOne && status === 201, "Location"),
    ...when(operation.parameters.some(({ name }) => name === "offset"), "X-Total-Count", "Link"),
    ...when(isFile(response), "Content-Disposition"),
    ...when(JSON.stringify(schema).includes("/SignIn\""), "Set-Cookie"),
    ...when(isSession, "X-Access-Token", "Set-Cookie"),
    ...when(rateLimit !== undefined, "RateLimit", "RateLimit-Policy"),
    ...Context.get(endpoint.annotations, OwnHeaders)
  ]
}

/** The headers of an error. */
export const errorHeaders = (status: number): ReadonlyArray<Header> => [
  ...when(status === 401, "WWW-Authenticate"),
  ...when(status === 429, "RateLimit", "RateLimit-Policy", "Retry-After"),
  ...when(status === 503, "Retry-After")
]
