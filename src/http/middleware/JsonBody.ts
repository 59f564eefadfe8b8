import { ByteSize, Context, Effect, Layer } from "effect"
import { HttpIncomingMessage, HttpMethod, HttpServerRequest } from "effect/http"
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { BodyLimit, JsonBody } from "../api/Requests.ts"

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const tooLarge = (limitBytes: number) =>
  new PayloadTooLarge({ message: `The body may have at most ${limitBytes} bytes`, details: { limitBytes } })

const checkType = (request: HttpServerRequest.HttpServerRequest) => {
  if ((request.headers["content-encoding"] ?? "identity") !== "identity") {
    return Effect.fail(new UnsupportedMediaType({ message: "Send the body without a content encoding" }))
  }
  return JSON_TYPE.test(request.headers["content-type"] ?? "")
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body as application/json in UTF-8" }))
}

const readBytes = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Number(request.headers["content-length"]) > limitBytes
    ? Effect.fail(tooLarge(limitBytes))
    : request.arrayBuffer.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limitBytes)),
      Effect.mapError((error) =>
        error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
          ? tooLarge(limitBytes)
          : ValidationFailed.at("", "The body broke off")
      )
    )

const decodeUtf8 = (bytes: ArrayBuffer) =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => ValidationFailed.at("", "Expected valid UTF-8")
  })

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
      const text = yield* Effect.flatMap(readBytes(request, limitBytes), decodeUtf8)
      return yield* Effect.provideService(
        httpEffect,
        HttpServerRequest.HttpServerRequest,
        withText(request, text)
      )
    })
  }
)
