import { Context, Effect, Layer, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type {
  PayloadTooLarge,
  RateLimited,
  RequestTimeout,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { INLINE_BYTES } from "../../services/admission/HeavyWork.ts"
import { settings } from "../../services/settings/Registry.ts"
import { makeAddressShares } from "./AddressShares.ts"
import { checkReadable, readBytes } from "./Body.ts"
import { changeResponse } from "./ResponseChange.ts"

// The rest of the body stays unread.
const closeConnection = changeResponse((response) => HttpServerResponse.setHeader(response, "connection", "close"))

/** Reads request bodies within the memory budget of the process. */
export class RequestBodies extends Context.Service<RequestBodies, {
  /**
   * Returns the raw body. Fails with `UnsupportedMediaType` on an encoding not in `encodings`, `PayloadTooLarge`, or
   * `ValidationFailed` if the body is incomplete, `RequestTimeout` if it is behind its `BodyAllowance`. What has arrived of a body over 64 KiB is taken from `BODY_MEMORY_BUDGET`
   * until the scope closes. Fails with `RateLimited` above the share of an address or a network, `Unavailable` above that
   * of callers without a credential or above the whole.
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
