import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { PayloadTooLarge, type RequestTimeout, UnsupportedMediaType, ValidationFailed } from "../schema/Errors.ts"
import { arrivingBody } from "./BodyArrival.ts"

const tooLarge = (limitBytes: number) =>
  new PayloadTooLarge({ message: `The body may have at most ${limitBytes} bytes`, details: { limitBytes } })

const checkEncoding = (request: HttpServerRequest.HttpServerRequest) =>
  (request.headers["content-encoding"] ?? "identity") === "identity"
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body without a content encoding" }))

const isDeclaredTooLarge = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Number(request.headers["content-length"]) > limitBytes

type BodyError = PayloadTooLarge | RequestTimeout | ValidationFailed

/** The body as it comes, refused when it is longer than the limit: before it is read, where that is declared. */
const limitedBody = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Stream.Stream<Uint8Array, BodyError> => {
  if (isDeclaredTooLarge(request, limitBytes)) return Stream.fail(tooLarge(limitBytes))
  const body: Stream.Stream<Uint8Array, BodyError> = arrivingBody(request)
  return Stream.limitBytes(body, limitBytes, () => Stream.fail(tooLarge(limitBytes)))
}

const readBytes = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Effect.map(Stream.mkUint8Array(limitedBody(request, limitBytes)), ({ buffer }) => buffer)

/** The text of a body. Fails where it is not UTF-8. */
export const decodeUtf8 = (bytes: ArrayBuffer) =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => ValidationFailed.at("", "Expected valid UTF-8")
  })

/**
 * The body of a request. Fails when it is compressed, longer than the limit (before it is read, where that is declared), or
 * broken off.
 */
export const readBody = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Effect.andThen(checkEncoding(request), readBytes(request, limitBytes))

const ZIP_TYPE = /^application\/(zip|x-zip-compressed)\s*(;|$)/i

/**
 * The body of a request as it comes, for what is too long to be held. Fails when it is no ZIP archive by its content type,
 * compressed once more, longer than the limit, or broken off.
 */
export const zipStream = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Stream.Stream<Uint8Array, BodyError | UnsupportedMediaType> =>
  Stream.unwrap(Effect.gen(function*() {
    if (!ZIP_TYPE.test(request.headers["content-type"] ?? "")) {
      return yield* new UnsupportedMediaType({ message: "Send the archive as application/zip" })
    }
    yield* checkEncoding(request)
    return limitedBody(request, limitBytes)
  }))
