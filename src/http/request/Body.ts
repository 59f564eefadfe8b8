import { Clock, Context, Duration, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { PayloadTooLarge, RequestTimeout, UnsupportedMediaType, ValidationFailed } from "../../schema/Errors.ts"
import { NOT_UTF8 } from "../../schema/Issues.ts"
import { BODY_ALLOWANCE } from "../../schema/Limits.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import { waitingForOthers } from "../../services/admission/RunningRequests.ts"
import { ResponseDeadline } from "./ResponseDeadline.ts"

/** A body may fall `grace` behind the minimum rate, and so may stand still for as long. */
export const BodyAllowance = Context.Reference<{ readonly grace: Duration.Duration; readonly bytesPerSecond: number }>(
  "route-planning-service/BodyAllowance",
  { defaultValue: () => BODY_ALLOWANCE }
)

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

export const incomplete = () => ValidationFailed.at("", "The body is cut off, or its chunks are malformed")

const tooSlow = Effect.suspend(() => Effect.fail(new RequestTimeout({ message: "The body did not arrive in time" })))

/**
 * The body within its `BodyAllowance`, which only counts while the service waits for the client. The timeout of the response
 * begins when it has ended.
 */
const readable = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Stream.transformPull(Stream.mapError(request.stream, incomplete), (pull) =>
    Effect.gen(function*() {
      const { bytesPerSecond, grace } = yield* BodyAllowance
      const clock = yield* Clock.Clock
      const mostLeft = Duration.toMillis(grace)
      const state = { arrived: 0, left: mostLeft }
      yield* (yield* ResponseDeadline).pause
      return Effect.suspend(() => {
        const began = clock.currentTimeMillisUnsafe()
        const awaited = Effect.timeoutOrElse(pull, { duration: state.left, orElse: () => tooSlow })
        return Effect.tap(awaited, (parts) => {
          const bytes = parts.reduce((sum, { length }) => sum + length, 0)
          const waited = clock.currentTimeMillisUnsafe() - began
          state.arrived += bytes
          state.left = Math.min(mostLeft, state.left - waited + bytes / bytesPerSecond * 1000)
          return state.arrived > limitBytes ? Effect.fail(tooLarge(limitBytes)) : Effect.void
        })
      })
    })).pipe(Stream.ensuring(Effect.flatMap(ResponseDeadline, ({ begin }) => begin)))

/** A body takes memory in steps of so many bytes: a client may send each byte by itself. */
const STEP = 65_536

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
    const length = declaredLength(request) ?? Infinity
    const steps: Array<Uint8Array<ArrayBuffer>> = []
    const state = { taken: 0, free: new Uint8Array() }

    const takeStep = Effect.fnUntraced(function*() {
      // Without a socket a body may come without its length.
      const step = state.taken < length ? Math.min(STEP, length - state.taken) : STEP
      yield* onStep(state.taken + step)
      state.taken += step
      state.free = new Uint8Array(step)
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
): Stream.Stream<Uint8Array, PayloadTooLarge | RequestTimeout | UnsupportedMediaType | ValidationFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    if (!ZIP_TYPES.has(mediaTypeOf(request.headers["content-type"]))) {
      return yield* new UnsupportedMediaType({ message: `Send the archive as ${MEDIA_TYPES.zip}` })
    }
    yield* checkReadable(request, limitBytes)
    return readable(request, limitBytes)
  }))
