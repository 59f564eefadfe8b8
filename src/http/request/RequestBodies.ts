import { Clock, Context, Duration, Effect, Layer, Predicate, type Scope, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import {
  PayloadTooLarge,
  type RateLimited,
  RequestTimeout,
  type Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import type { Position } from "../../schema/Geometry.ts"
import { NOT_UTF8 } from "../../schema/Issues.ts"
import { BODY_ALLOWANCE } from "../../schema/Limits.ts"
import { MEDIA_TYPES, mediaTypeOf } from "../../schema/MediaTypes.ts"
import { HeavyWork, INLINE_BYTES } from "../../services/admission/HeavyWork.ts"
import { waitingForOthers } from "../../services/admission/Lane.ts"
import {
  BROKEN_POLYLINE6,
  type MeasuredPolyline,
  polyline6Bytes,
  readPolyline6
} from "../../services/geometry/MeasuredPolyline.ts"
import { settings } from "../../services/operations/SettingsRegistry.ts"
import type { MeasuredTrace } from "../../services/routing/EngineJobs.ts"
import type { RefusedOperation } from "../../services/sync/BatchJobs.ts"
import { makeAddressShares } from "./AddressShares.ts"
import { changeResponse } from "./ResponseChange.ts"

/** `pause` suspends the timeout of the response while the request waits for its client, `begin` restarts it. */
export const ResponseDeadline = Context.Reference<{
  readonly pause: Effect.Effect<void>
  readonly begin: Effect.Effect<void>
}>("route-planning-service/ResponseDeadline", { defaultValue: () => ({ pause: Effect.void, begin: Effect.void }) })

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

/** Returns `Content-Length` in bytes, for requests of Effect and of Node, or undefined for a chunked body. */
export const declaredLength = ({ headers }: WithHeaders): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined

const isDeclaredTooLarge = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  (declaredLength(request) ?? 0) > limitBytes

const checkReadable = Effect.fnUntraced(
  function*(
    request: HttpServerRequest.HttpServerRequest,
    limitBytes: number,
    encodings: ReadonlyArray<string> = []
  ) {
    yield* checkEncoding(request, encodings)
    if (isDeclaredTooLarge(request, limitBytes)) return yield* tooLarge(limitBytes)
  }
)

export const incomplete = () => ValidationFailed.at("body", "", "The body is cut off, or its chunks are malformed")

const tooSlow = Effect.suspend(() => Effect.fail(new RequestTimeout({ message: "The body did not arrive in time" })))

/** `BodyAllowance` only counts while the service waits. The response's timeout begins when the body has ended. */
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
const readBytes = Effect.fnUntraced(
  function*<E, R>(
    request: HttpServerRequest.HttpServerRequest,
    limitBytes: number,
    onStep: (bytes: number) => Effect.Effect<void, E, R>
  ) {
    // A request in process declares no length, and has a body.
    const length = declaredLength(request) || Infinity
    const steps: Array<Uint8Array<ArrayBuffer>> = []
    const state = { taken: 0, free: new Uint8Array() }

    const takeStep = Effect.fnUntraced(function*() {
      const step = Math.min(STEP, length - state.taken)
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
    catch: () => ValidationFailed.at("body", "", NOT_UTF8)
  })

/** Returns true if Node has all of a short body, which mostly arrives while the credential is read. */
const hasArrived = (request: HttpServerRequest.HttpServerRequest) =>
  (declaredLength(request) ?? Infinity) <= INLINE_BYTES
  && Predicate.hasProperty(request.source, "complete") && request.source.complete === true

const ZIP_TYPES = new Set<string>([MEDIA_TYPES.zip, MEDIA_TYPES.windowsZip])

/** Streams a body that may be too large for memory. */
export const bodyStream = (request: HttpServerRequest.HttpServerRequest, limitBytes: number) =>
  Stream.unwrap(Effect.as(checkReadable(request, limitBytes), readable(request, limitBytes)))

export const zipStream = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Stream.Stream<Uint8Array, PayloadTooLarge | RequestTimeout | UnsupportedMediaType | ValidationFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    if (!ZIP_TYPES.has(mediaTypeOf(request.headers["content-type"]))) {
      return yield* new UnsupportedMediaType({ message: `Send the archive as ${MEDIA_TYPES.zip}` })
    }
    return bodyStream(request, limitBytes)
  }))

// The rest of the body stays unread.
const closeConnection = changeResponse((response) => HttpServerResponse.setHeader(response, "connection", "close"))

/** Reads request bodies within the memory budget of the process. */
export class RequestBodies extends Context.Service<RequestBodies, {
  /**
   * Returns the raw body. Fails with `UnsupportedMediaType` on an encoding not in `encodings`, `PayloadTooLarge`,
   * `ValidationFailed` if the body is incomplete, or `RequestTimeout` if it is behind its `BodyAllowance`. The arrived
   * bytes of a body over 64 KiB are taken from `BODY_MEMORY_BUDGET` until the scope closes. Fails with `RateLimited`
   * above the share of an address or a network, with `Unavailable` above that of anonymous callers or the budget.
   */
  readonly read: (
    request: HttpServerRequest.HttpServerRequest,
    limitBytes: number,
    encodings?: ReadonlyArray<string>
  ) => Effect.Effect<
    ArrayBuffer,
    PayloadTooLarge | RateLimited | RequestTimeout | Unavailable | UnsupportedMediaType | ValidationFailed,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
}>()("route-planning-service/RequestBodies") {
  static readonly layer = Layer.effect(
    RequestBodies,
    Effect.gen(function*() {
      const budget = yield* settings.BODY_MEMORY_BUDGET
      const shares = makeAddressShares("large bodies", {
        perAddress: budget / 2,
        perNetwork: budget * 3 / 4,
        anonymous: budget / 4,
        total: budget
      }, "from")

      return RequestBodies.of({
        read: Effect.fnUntraced(function*(request, limitBytes, encodings) {
          yield* checkReadable(request, limitBytes, encodings)
          if (hasArrived(request)) {
            yield* (yield* ResponseDeadline).begin
            return yield* Effect.mapError(request.arrayBuffer, incomplete)
          }
          const { take } = yield* shares.reserve
          const reserved = { bytes: 0 }
          return yield* readBytes(request, limitBytes, (bytes) => {
            if (bytes <= INLINE_BYTES) return Effect.void
            const more = bytes - reserved.bytes
            reserved.bytes = bytes
            return Effect.tapError(take(more), () => closeConnection)
          })
        })
      })
    })
  )
}

export interface Parts {
  readonly line?: MeasuredPolyline
  /** A batch has a line for each operation that gives one. */
  readonly lines?: ReadonlyArray<MeasuredPolyline | undefined>
  /** These operations of a batch do not match their schema. */
  readonly refused?: ReadonlyArray<RefusedOperation | undefined>
  readonly trace?: MeasuredTrace
  readonly digest?: () => string
}

export const BodyParts = Context.Reference<Parts>("route-planning-service/BodyParts", { defaultValue: () => ({}) })

export const bodyDigest = Effect.map(BodyParts, ({ digest }) => digest ?? (() => ""))

interface GivenLine {
  readonly geometry?: ReadonlyArray<Position> | null
  readonly polyline6?: string | null
}

/** Null in `geometry` or `polyline6` clears the geometry. */
export const makeWithGeometry = Effect.map(HeavyWork, (heavy) => {
  const measure = Effect.fnUntraced(function*(encoded: string) {
    const line = yield* heavy.run(readPolyline6, encoded, polyline6Bytes(encoded))
    return line ?? (yield* ValidationFailed.of("body", [BROKEN_POLYLINE6]))
  })

  return Effect.fnUntraced(function*<A extends GivenLine>({ geometry, polyline6, ...payload }: A) {
    const { line } = yield* BodyParts
    if (line !== undefined) return { ...payload, geometry: line }
    if (typeof polyline6 === "string") return { ...payload, geometry: yield* measure(polyline6) }
    const given = geometry === undefined ? polyline6 : geometry
    return given === undefined ? payload : { ...payload, geometry: given }
  })
})
