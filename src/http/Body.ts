import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../schema/Errors.ts"

const tooLarge = (limitBytes: number) =>
  new PayloadTooLarge({ message: `The body may have at most ${limitBytes} bytes`, details: { limitBytes } })

const checkEncoding = (request: HttpServerRequest.HttpServerRequest) =>
  (request.headers["content-encoding"] ?? "identity") === "identity"
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ message: "Send the body without a content encoding" }))

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

/**
 * The body of a request as text. Fails when it is compressed, longer than the limit (before it is read, where that is
 * declared), broken off, or not UTF-8.
 */
export const readText = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  checkEncoding(request).pipe(
    Effect.andThen(readBytes(request, limitBytes)),
    Effect.flatMap(decodeUtf8)
  )
