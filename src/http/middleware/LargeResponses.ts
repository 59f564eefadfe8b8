import { Context, Effect, Exit, Scope } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { makeAddressShares, type Shares } from "../request/AddressShares.ts"
import { piecesIn } from "../request/BodyPieces.ts"
import { WhenResponseSent } from "../response/ResponseSent.ts"

const MIB = 1024 * 1024

/** Shorter responses cost less memory than their connection. */
const COUNTED_BYTES = 16 * 1024

/** In bytes, for 4 and 6 of the largest responses at least: their pieces keep up to 2.5 times their bytes. */
export const LargeResponseLimits = Context.Reference<Shares>("route-planning-service/LargeResponseLimits", {
  defaultValue: () => ({ perAddress: 192 * MIB, total: 256 * MIB })
})

const bytesHeld = (response: HttpServerResponse.HttpServerResponse) => {
  const { body } = response
  if (body._tag === "Uint8Array") return body.contentLength >= COUNTED_BYTES ? body.contentLength : 0
  return piecesIn(response)?.held ?? 0
}

/** For clients that read slowly or not at all. Counts bytes, since a connection can pipeline many short responses. */
export const largeResponsesLayer = HttpRouter.middleware(
  Effect.map(LargeResponseLimits, (limits) => {
    const hold = makeAddressShares("large responses", limits)

    const holdUntilSent = Effect.fnUntraced(function*(bytes: number) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const whenSent = yield* WhenResponseSent
      const scope = yield* Scope.make()
      yield* Scope.provide(hold(bytes), scope)
      yield* whenSent(request, Scope.close(scope, Exit.void))
    }, Effect.uninterruptible)

    return (httpEffect) =>
      Effect.tap(httpEffect, (response) => {
        const bytes = bytesHeld(response)
        return bytes === 0 ? Effect.void : holdUntilSent(bytes)
      })
  }),
  { global: true }
)
