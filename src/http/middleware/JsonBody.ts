import { Context, Effect, Layer, Schema } from "effect"
import { HttpMethod, HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { UnsupportedMediaType, ValidationFailed, type ValidationIssue } from "../../schema/Errors.ts"
import { boundsOf } from "../../services/json/BoundedJson.ts"
import { BodyLimit, JsonBody } from "../api/Requests.ts"
import { decodeUtf8, readBody } from "../Body.ts"

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const checkType = (request: HttpServerRequest.HttpServerRequest) =>
  JSON_TYPE.test(request.headers["content-type"] ?? "")
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body as application/json in UTF-8" }))

/** The request with its body read: what stands behind sees the text alone. */
const withText = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { text: { value: Effect.succeed(text) } })

/** What an endpoint's payload is checked by: made once for each endpoint, when its first request comes. */
const makeBoundsOf = () => {
  const known = new Map<HttpApiEndpoint.Top, ReturnType<typeof boundsOf>>()
  return (endpoint: HttpApiEndpoint.Top) => {
    const bounds = known.get(endpoint) ?? boundsOf(Schema.Union(schemasOf(endpoint)))
    known.set(endpoint, bounds)
    return bounds
  }
}

const schemasOf = ({ payload }: HttpApiEndpoint.Top) => [...payload.values()].flatMap(({ schemas }) => schemas)

const refused = (issues: ReadonlyArray<ValidationIssue>) =>
  issues.length === 0 ? Effect.void : Effect.fail(ValidationFailed.of(issues))

/**
 * Reads the body before the framework does, which takes any content type, any size and broken UTF-8, and counts what it
 * has before the framework parses it. The framework's decoder stops at the first reason; the others are collected here.
 */
export const jsonBodyLayer = Layer.sync(
  JsonBody,
  () => {
    const boundsOfEndpoint = makeBoundsOf()
    return (httpEffect, { endpoint }) => {
      if (!HttpMethod.hasBody(endpoint.method) || endpoint.payload.size === 0) return httpEffect
      const limitBytes = Context.get(endpoint.annotations, BodyLimit)
      return Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* checkType(request)
        const bytes = yield* readBody(request, limitBytes)
        const { excessOf, refusalsOf } = boundsOfEndpoint(endpoint)
        yield* refused(excessOf(Buffer.from(bytes)))
        const text = yield* decodeUtf8(bytes)
        return yield* httpEffect.pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, withText(request, text)),
          Effect.tapError((error) =>
            HttpApiError.HttpApiSchemaError.is(error) && error.kind === "Payload"
              ? refused(refusalsOf(text))
              : Effect.void
          )
        )
      })
    }
  }
)
