import { Context, Effect, Layer } from "effect"
import { HttpMethod, HttpServerRequest } from "effect/http"
import { UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { HeavyWork, INLINE_BYTES } from "../../services/heavy/HeavyWork.ts"
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

/** Reads the body before the framework does, which takes any content type, any size and broken UTF-8. */
export const jsonBodyLayer = Layer.effect(
  JsonBody,
  Effect.map(HeavyWork, (heavy) => (httpEffect, { endpoint }) => {
    if (!HttpMethod.hasBody(endpoint.method) || endpoint.payload.size === 0) return httpEffect
    const limitBytes = Context.get(endpoint.annotations, BodyLimit)
    const hasGeometry = Context.get(endpoint.annotations, HasGeometry)
    return Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* checkType(request)
      const bytes = yield* readBody(request, limitBytes)
      const isLong = hasGeometry && bytes.byteLength > INLINE_BYTES
      const { line, text } = yield* isLong ? readLong(heavy, bytes) : readShort(bytes)
      return yield* httpEffect.pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, withText(request, text)),
        Effect.provideService(MeasuredLine, line)
      )
    })
  })
)
