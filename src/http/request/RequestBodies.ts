import { Context, Effect, Layer, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type {
  PayloadTooLarge,
  RateLimited,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { INLINE_BYTES } from "../../services/heavy/HeavyWork.ts"
import { byteSize } from "../../services/settings/SettingTypes.ts"
import { makeAddressShares } from "./AddressShares.ts"
import { checkReadable, declaredLength, readBytes } from "./Body.ts"
import { changeResponse } from "./ResponseChange.ts"

// The rest of the body stays unread.
const closeConnection = changeResponse((response) => HttpServerResponse.setHeader(response, "connection", "close"))

export const bodyMemoryBudget = byteSize("BODY_MEMORY_BUDGET", "128 MiB")

/** Reads request bodies within the memory budget of the process. */
export class RequestBodies extends Context.Service<RequestBodies, {
  /**
   * Returns the raw body. Fails with `UnsupportedMediaType` on an encoding not in `encodings`, `PayloadTooLarge`, or
   * `ValidationFailed` if the body is incomplete. A body over 64 KiB reserves its length from `BODY_MEMORY_BUDGET`
   * until the scope closes; one of unknown length reserves `limitBytes` until it has arrived. Fails with `RateLimited`
   * above half of the budget for one address, `Unavailable` above the whole.
   */
  readonly read: (
    request: HttpServerRequest.HttpServerRequest,
    limitBytes: number,
    encodings?: ReadonlyArray<string>
  ) => Effect.Effect<
    ArrayBuffer,
    PayloadTooLarge | RateLimited | Unavailable | UnsupportedMediaType | ValidationFailed,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
}>()("route-planning-service/RequestBodies") {
  static readonly layer = Layer.effect(
    RequestBodies,
    Effect.gen(function*() {
      const budget = yield* bodyMemoryBudget
      const take = makeAddressShares("large bodies", { perAddress: budget / 2, total: budget }, "from")

      const hold = (bytes: number) =>
        bytes <= INLINE_BYTES ? Effect.void : Effect.tapError(take(bytes), () => closeConnection)

      const readUnknown = Effect.fnUntraced(
        function*(request: HttpServerRequest.HttpServerRequest, limitBytes: number) {
          const bytes = yield* Effect.scoped(Effect.andThen(hold(limitBytes), readBytes(request, limitBytes)))
          yield* hold(bytes.byteLength)
          return bytes
        }
      )

      return RequestBodies.of({
        read: Effect.fnUntraced(function*(request, limitBytes, encodings) {
          yield* checkReadable(request, limitBytes, encodings)
          const length = declaredLength(request)
          if (length === undefined) return yield* readUnknown(request, limitBytes)
          yield* hold(length)
          return yield* readBytes(request, limitBytes)
        })
      })
    })
  )
}
