import { ByteSize, Duration, Effect, Schema, Stream } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { NOT_UTF8 } from "../../schema/Issues.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import { waitingForOthers } from "../../services/limits/RunningRequests.ts"
import { arrivingBody, BodyAllowance, ResponseDeadline } from "./BodyArrival.ts"

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

const isTooLarge = Schema.is(PayloadTooLarge)

const incomplete = () => ValidationFailed.at("", "The body is cut off, or its chunks are malformed")

const unreadable = <E>(error: E | PayloadTooLarge) => isTooLarge(error) ? error : incomplete()

const readable = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Stream.mapError(arrivingBody(request, limitBytes, () => tooLarge(limitBytes)), unreadable)

/** A long body takes memory in steps of so many bytes: a client may send each byte by itself. */
const STEP = 65_536

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

/** At the lowest rate a body of one step arrives within the grace. */
const readShort = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, limitBytes: number) {
  const { grace } = yield* BodyAllowance
  const deadline = yield* ResponseDeadline
  yield* deadline.awaitBody(Duration.toMillis(grace))
  return yield* Effect.ensuring(waitingForOthers(readWhole(request, limitBytes)), deadline.begin)
})

const joined = (parts: ReadonlyArray<Uint8Array<ArrayBuffer>>, length: number) => {
  const whole = new Uint8Array(length)
  const state = { at: 0 }
  for (const part of parts) {
    whole.set(part.subarray(0, length - state.at), state.at)
    state.at += part.length
  }
  return whole.buffer
}

/** Calls `onStep` with the memory that the body needs, before it is taken. */
export const readBytes = Effect.fnUntraced(
  function*<E, R>(
    request: HttpServerRequest.HttpServerRequest,
    limitBytes: number,
    onStep: (bytes: number) => Effect.Effect<void, E, R>
  ) {
    if ((declaredLength(request) ?? Infinity) <= STEP) return yield* readShort(request, limitBytes)
    const steps: Array<Uint8Array<ArrayBuffer>> = []
    const state = { taken: 0, free: new Uint8Array() }

    const takeStep = Effect.fnUntraced(function*() {
      yield* onStep(state.taken + STEP)
      state.taken += STEP
      state.free = new Uint8Array(STEP)
      steps.push(state.free)
    })

    const add = (bytes: Uint8Array): Effect.Effect<void, E, R> => {
      const part = bytes.subarray(0, state.free.length)
      state.free.set(part)
      state.free = state.free.subarray(part.length)
      const rest = bytes.subarray(part.length)
      return rest.length === 0 ? Effect.void : Effect.flatMap(takeStep(), () => add(rest))
    }

    yield* waitingForOthers(Stream.runForEach(readable(request, limitBytes), add))
    return joined(steps, state.taken - state.free.length)
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
    return readable(request, limitBytes)
  }))
