import { Context, Effect, Exit, Scope } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { makeAddressShares, type Shares } from "../request/AddressShares.ts"
import { piecesIn } from "../request/BodyPieces.ts"
import { mayStore } from "../request/RouteTemplates.ts"
import { WhenResponseSent } from "../response/ResponseSent.ts"

const MIB = 1024 * 1024

/** Shorter responses cost less memory than their connection. */
const COUNTED_BYTES = 16 * 1024

/** In bytes, for 4 of the largest responses to one address and 6 in all: their pieces keep up to 2.5 times their bytes. */
export const LargeResponseLimits = Context.Reference<Shares>("route-planning-service/LargeResponseLimits", {
  defaultValue: () => ({ perAddress: 160 * MIB, perNetwork: 192 * MIB, anonymous: 208 * MIB, total: 256 * MIB })
})

const bytesHeld = (response: HttpServerResponse.HttpServerResponse) => {
  const { body } = response
  if (body._tag === "Uint8Array") return body.contentLength >= COUNTED_BYTES ? body.contentLength : 0
  return piecesIn(response)?.held ?? 0
}

/**
 * For clients that read slowly or not at all. Counts bytes, since a connection can pipeline many short responses. A response
 * may be refused where the work has stored nothing; what may store is refused before its work, or not at all.
 */
export const largeResponsesLayer = HttpRouter.middleware(
  Effect.map(LargeResponseLimits, (limits) => {
    const shares = makeAddressShares("large responses", limits)

    const holdUntilSent = Effect.fnUntraced(function*(bytes: number, isStored: boolean) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const whenSent = yield* WhenResponseSent
      const scope = yield* Scope.make()
      const { add, take } = yield* Scope.provide(shares.reserve, scope)
      yield* isStored ? add(bytes) : take(bytes)
      yield* whenSent(request, Scope.close(scope, Exit.void))
    }, Effect.uninterruptible)

    return (httpEffect) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method, url }) => {
        const isStored = mayStore(method, url)
        const held = Effect.tap(httpEffect, (response) => {
          const bytes = bytesHeld(response)
          return bytes === 0 ? Effect.void : holdUntilSent(bytes, isStored)
        })
        return isStored ? Effect.andThen(shares.requireRoom, held) : held
      })
  }),
  { global: true }
)
