import { ByteSize, Effect, Stream } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../schema/Errors.ts"
import { ResponseDeadline } from "./BodyArrival.ts"

const tooLarge = (limitBytes: number) =>
  new PayloadTooLarge({ message: `The body may have at most ${limitBytes} bytes`, details: { limitBytes } })

const checkEncoding = (request: HttpServerRequest.HttpServerRequest) =>
  (request.headers["content-encoding"] ?? "identity") === "identity"
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body without a content encoding" }))

const isDeclaredTooLarge = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Number(request.headers["content-length"]) > limitBytes

const incomplete = () => ValidationFailed.at("", "The body is cut off, or its chunks are malformed")

// Interrupted, the read would close the connection, and with it the response to a body that is too slow.
const readWhole = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Effect.uninterruptible(request.arrayBuffer).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limitBytes)),
    Effect.mapError((error) =>
      error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
        ? tooLarge(limitBytes)
        : incomplete()
    )
  )

const readBytes = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, limitBytes: number) {
  if (isDeclaredTooLarge(request, limitBytes)) return yield* tooLarge(limitBytes)
  const deadline = yield* ResponseDeadline
  yield* deadline.awaitBody(request)
  return yield* Effect.ensuring(readWhole(request, limitBytes), deadline.begin)
})

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
): Stream.Stream<Uint8Array, PayloadTooLarge | UnsupportedMediaType | ValidationFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    if (!ZIP_TYPE.test(request.headers["content-type"] ?? "")) {
      return yield* new UnsupportedMediaType({ message: "Send the archive as application/zip" })
    }
    yield* checkEncoding(request)
    if (isDeclaredTooLarge(request, limitBytes)) return yield* tooLarge(limitBytes)
    const deadline = yield* ResponseDeadline
    yield* deadline.awaitBody(request)
    const body: Stream.Stream<Uint8Array, PayloadTooLarge | ValidationFailed> = request.stream.pipe(
      Stream.mapError(incomplete),
      Stream.ensuring(deadline.begin)
    )
    return Stream.limitBytes(body, limitBytes, () => Stream.fail(tooLarge(limitBytes)))
  }))
