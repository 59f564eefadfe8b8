import { Context, Effect, Layer, Schema } from "effect"
import { HttpMethod, HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import { UnsupportedMediaType, ValidationFailed, type ValidationIssue } from "../../schema/Errors.ts"
import { HeavyWork, INLINE_BYTES } from "../../services/heavy/HeavyWork.ts"
import { boundsOf } from "../../services/json/BoundedJson.ts"
import { splitRouteBody } from "../../services/routes/RouteJobs.ts"
import { BodyLimit, HasGeometry, JsonBody } from "../api/Requests.ts"
import { decodeUtf8, readBody } from "../Body.ts"
import { MeasuredLine } from "../MeasuredLine.ts"

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const checkType = (request: HttpServerRequest.HttpServerRequest) =>
  JSON_TYPE.test(request.headers["content-type"] ?? "")
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body as application/json in UTF-8" }))

/** The request with its body read: what stands behind sees the text alone. */
const withText = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { text: { value: Effect.succeed(text) } })

/** A body as text, and its geometry where that is long: it was taken out of the text and measured in a thread. */
const readLong = Effect.fnUntraced(function*(heavy: HeavyWork["Service"], bytes: ArrayBuffer) {
  const split = yield* heavy.run(splitRouteBody, bytes, bytes.byteLength, [bytes])
  return split ?? (yield* ValidationFailed.at("", "Expected valid UTF-8"))
})

const readShort = (bytes: ArrayBuffer) => Effect.map(decodeUtf8(bytes), (text) => ({ text, line: undefined }))

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
 * has before anything parses it. The framework's decoder stops at the first reason; the others are collected here.
 */
export const jsonBodyLayer = Layer.effect(
  JsonBody,
  Effect.map(HeavyWork, (heavy) => {
    const boundsOfEndpoint = makeBoundsOf()
    return (httpEffect, { endpoint }) => {
      if (!HttpMethod.hasBody(endpoint.method) || endpoint.payload.size === 0) return httpEffect
      const limitBytes = Context.get(endpoint.annotations, BodyLimit)
      const hasGeometry = Context.get(endpoint.annotations, HasGeometry)
      return Effect.gen(function*() {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* checkType(request)
        const bytes = yield* readBody(request, limitBytes)
        const { excessOf, refusalsOf } = boundsOfEndpoint(endpoint)
        yield* refused(excessOf(Buffer.from(bytes)))
        const isLong = hasGeometry && bytes.byteLength > INLINE_BYTES
        const { line, text } = yield* isLong ? readLong(heavy, bytes) : readShort(bytes)
        return yield* httpEffect.pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, withText(request, text)),
          Effect.provideService(MeasuredLine, line),
          Effect.tapError((error) =>
            HttpApiError.HttpApiSchemaError.is(error) && error.kind === "Payload"
              ? refused(refusalsOf(text))
              : Effect.void
          )
        )
      })
    }
  })
)
