import { ByteSize, Effect, Stream } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { PayloadTooLarge, RequestTimeout, UnsupportedMediaType, ValidationFailed } from "../schema/Errors.ts"

const tooLarge = (limitBytes: number) =>
  new PayloadTooLarge({ message: `The body may have at most ${limitBytes} bytes`, details: { limitBytes } })

const checkEncoding = (request: HttpServerRequest.HttpServerRequest) =>
  (request.headers["content-encoding"] ?? "identity") === "identity"
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body without a content encoding" }))

const isDeclaredTooLarge = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Number(request.headers["content-length"]) > limitBytes

/** What became of a body that did not arrive whole. */
const unreadable = ({ reason }: HttpServerError.HttpServerError) => {
  const cause = "cause" in reason ? reason.cause : undefined
  return cause instanceof Error && "code" in cause && cause.code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? new RequestTimeout({ message: "The body did not arrive in time" })
    : ValidationFailed.at("", "The body is cut off, or its chunks are malformed")
}

const readBytes = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  isDeclaredTooLarge(request, limitBytes)
    ? Effect.fail(tooLarge(limitBytes))
    : request.arrayBuffer.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limitBytes)),
      Effect.mapError((error) =>
        error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
          ? tooLarge(limitBytes)
          : unreadable(error)
      )
    )

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

/** The same as text; fails also where it is not UTF-8. */
export const readText = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Effect.flatMap(readBody(request, limitBytes), decodeUtf8)

const ZIP_TYPE = /^application\/(zip|x-zip-compressed)\s*(;|$)/i

/**
 * The body of a request as it comes, for what is too long to be held. Fails when it is no ZIP archive by its content type,
 * compressed once more, longer than the limit, or broken off.
 */
export const zipStream = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Stream.Stream<Uint8Array, PayloadTooLarge | RequestTimeout | UnsupportedMediaType | ValidationFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    if (!ZIP_TYPE.test(request.headers["content-type"] ?? "")) {
      return yield* new UnsupportedMediaType({ message: "Send the archive as application/zip" })
    }
    yield* checkEncoding(request)
    if (isDeclaredTooLarge(request, limitBytes)) return yield* tooLarge(limitBytes)
    const body: Stream.Stream<Uint8Array, PayloadTooLarge | RequestTimeout | ValidationFailed> = Stream.mapError(
      request.stream,
      unreadable
    )
    return Stream.limitBytes(body, limitBytes, () => Stream.fail(tooLarge(limitBytes)))
  }))
