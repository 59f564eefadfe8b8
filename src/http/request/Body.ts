import { ByteSize, Effect, Stream } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { NOT_UTF8 } from "../../schema/Issues.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import { waitingForOthers } from "../../services/limits/RunningRequests.ts"
import { ResponseDeadline } from "./BodyArrival.ts"

const tooLarge = (limitBytes: number) =>
  new PayloadTooLarge({ message: `The body may have at most ${limitBytes} bytes`, details: { limitBytes } })

const checkEncoding = (request: HttpServerRequest.HttpServerRequest, encodings: ReadonlyArray<string>) => {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (encoding === "identity" || encodings.includes(encoding)) return Effect.void
  const expected = encodings.length === 0 ? "without a content encoding" : "uncompressed or with gzip"
  return Effect.fail(new UnsupportedMediaType({ message: `Send the body ${expected}` }))
}

interface WithHeaders {
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
}

/** `Content-Length` in bytes, of a request of Effect or of Node; undefined for a chunked body. */
export const declaredLength = ({ headers }: WithHeaders): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined

const isDeclaredTooLarge = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  (declaredLength(request) ?? 0) > limitBytes

export const checkReadable = Effect.fnUntraced(
  function*(
    request: HttpServerRequest.HttpServerRequest,
    limitBytes: number,
    encodings: ReadonlyArray<string> = []
  ) {
    yield* checkEncoding(request, encodings)
    if (isDeclaredTooLarge(request, limitBytes)) return yield* tooLarge(limitBytes)
  }
)

const incomplete = () => ValidationFailed.at("", "The body is cut off, or its chunks are malformed")

// Interrupting the read closes the connection, which loses the 408 response.
const readWhole = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Effect.uninterruptible(request.arrayBuffer).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.fromInputUnsafe(limitBytes)),
    Effect.mapError((error) =>
      error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
        ? tooLarge(limitBytes)
        : incomplete()
    )
  )

export const readBytes = Effect.fnUntraced(
  function*(request: HttpServerRequest.HttpServerRequest, limitBytes: number) {
    const deadline = yield* ResponseDeadline
    yield* deadline.awaitBody(request)
    return yield* Effect.ensuring(waitingForOthers(readWhole(request, limitBytes)), deadline.begin)
  }
)

export const decodeUtf8 = (bytes: ArrayBuffer) =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => ValidationFailed.at("", NOT_UTF8)
  })

const ZIP_TYPES = new Set<string>([MEDIA_TYPES.zip, MEDIA_TYPES.windowsZip])

/** Streams, since archives are too large for memory. */
export const zipStream = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Stream.Stream<Uint8Array, PayloadTooLarge | UnsupportedMediaType | ValidationFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    if (!ZIP_TYPES.has(mediaTypeOf(request.headers["content-type"]))) {
      return yield* new UnsupportedMediaType({ message: `Send the archive as ${MEDIA_TYPES.zip}` })
    }
    yield* checkReadable(request, limitBytes)
    const deadline = yield* ResponseDeadline
    yield* deadline.awaitBody(request)
    const body: Stream.Stream<Uint8Array, PayloadTooLarge | ValidationFailed> = request.stream.pipe(
      Stream.mapError(incomplete),
      Stream.ensuring(deadline.begin)
    )
    return Stream.limitBytes(body, limitBytes, () => Stream.fail(tooLarge(limitBytes)))
  }))
