import { Context, Duration, Effect, Exit, Scope } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { makeAddressShares, type Shares } from "../request/AddressShares.ts"
import { piecesIn } from "../request/BodyPieces.ts"
import { mayStore } from "../request/RouteTemplates.ts"
import { ReadAllowance } from "../response/Downloads.ts"

/** Runs an effect once the response has left memory; ends a response that its client does not take in time. */
export const WhenResponseSent = Context.Reference<
  (
    request: HttpServerRequest.HttpServerRequest,
    within: Duration.Duration,
    run: Effect.Effect<void>
  ) => Effect.Effect<void, never, Scope.Scope>
>("route-planning-service/WhenResponseSent", {
  defaultValue: () => (_request, _within, run) => Effect.addFinalizer(() => run)
})

const MIB = 1024 * 1024

/** Shorter responses cost less memory than their connection. */
const COUNTED_BYTES = 16 * 1024

/** An address has room for 4 of the largest responses, all have for 6: pieces keep up to 2.5 times their bytes. */
export const LargeResponseLimits = Context.Reference<Shares>("route-planning-service/LargeResponseLimits", {
  defaultValue: () => ({ perAddress: 160 * MIB, perNetwork: 192 * MIB, anonymous: 208 * MIB, total: 256 * MIB })
})

const sizeOf = ({ body }: HttpServerResponse.HttpServerResponse) =>
  "contentLength" in body ? body.contentLength ?? 0 : 0

/** A stream keeps little of its bytes in memory. */
const bytesHeld = (response: HttpServerResponse.HttpServerResponse) =>
  response.body._tag === "Stream" ? 0 : piecesIn(response)?.held ?? sizeOf(response)

/**
 * Clients may read slowly or not at all. The limit counts bytes, since a connection can pipeline many short responses.
 * A response is refused only if its work has stored nothing; a request that may store is refused before its work.
 */
export const largeResponsesLayer = HttpRouter.middleware(
  Effect.gen(function*() {
    const { bytesPerSecond, grace } = yield* ReadAllowance
    const shares = makeAddressShares("large responses", yield* LargeResponseLimits)

    const holdUntilSent = Effect.fnUntraced(
      function*(response: HttpServerResponse.HttpServerResponse, isStored: boolean) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const whenSent = yield* WhenResponseSent
        const bytes = bytesHeld(response)
        const scope = yield* Scope.make()
        const { add, take } = yield* Scope.provide(shares.reserve, scope)
        yield* isStored || bytes === 0 ? add(bytes) : take(bytes)
        const within = Duration.sum(grace, Duration.seconds(sizeOf(response) / bytesPerSecond))
        yield* whenSent(request, within, Scope.close(scope, Exit.void))
      },
      Effect.uninterruptible
    )

    return (httpEffect) => {
      const heldIf = (isStored: boolean) =>
        Effect.tap(
          httpEffect,
          (response) => sizeOf(response) < COUNTED_BYTES ? Effect.void : holdUntilSent(response, isStored)
        )
      const held = heldIf(false)
      const heldOnceStored = Effect.andThen(shares.requireRoom, heldIf(true))
      return Effect.flatMap(
        HttpServerRequest.HttpServerRequest,
        ({ method, url }) => mayStore(method, url) ? heldOnceStored : held
      )
    }
  }),
  { global: true }
)
