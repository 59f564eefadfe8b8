import { Context, Effect, Layer } from "effect"
import { HttpMethod, HttpServerRequest } from "effect/http"
import { UnsupportedMediaType } from "../../schema/Errors.ts"
import { BodyLimit, JsonBody } from "../api/Requests.ts"
import { readText } from "../Body.ts"

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const checkType = (request: HttpServerRequest.HttpServerRequest) =>
  JSON_TYPE.test(request.headers["content-type"] ?? "")
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body as application/json in UTF-8" }))

/** The request with its body read: what stands behind sees the text alone. */
const withText = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { text: { value: Effect.succeed(text) } })

/** Reads the body before the framework does, which takes any content type, any size and broken UTF-8. */
export const jsonBodyLayer = Layer.succeed(
  JsonBody,
  (httpEffect, { endpoint }) => {
    if (!HttpMethod.hasBody(endpoint.method) || endpoint.payload.size === 0) return httpEffect
    const limitBytes = Context.get(endpoint.annotations, BodyLimit)
    return Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* checkType(request)
      const text = yield* readText(request, limitBytes)
      return yield* Effect.provideService(
        httpEffect,
        HttpServerRequest.HttpServerRequest,
        withText(request, text)
      )
    })
  }
)
