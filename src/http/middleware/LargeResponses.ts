import { Context, Effect } from "effect"
import { HttpRouter, type HttpServerResponse } from "effect/http"
import { makeAddressShares, type Shares } from "../AddressShares.ts"

const MIB = 1024 * 1024

/** A longer response is in memory until the client has taken it: the framework's server waits for that from here on. */
const LARGE_BYTES = MIB

/** How many bytes of large responses may be in memory for one address, and in all: eight of the largest, and 16. */
export const LargeResponseLimits = Context.Reference<Shares>("route-planning-service/LargeResponseLimits", {
  defaultValue: () => ({ perAddress: 128 * MIB, total: 256 * MIB })
})

const bytesHeld = ({ body }: HttpServerResponse.HttpServerResponse) =>
  body._tag === "Uint8Array" && body.contentLength >= LARGE_BYTES ? body.contentLength : 0

/** Bounds the memory of responses that clients take slowly, or not at all. */
export const largeResponsesLayer = HttpRouter.middleware(
  Effect.map(LargeResponseLimits, (limits) => {
    const hold = makeAddressShares("large responses", limits)
    return (httpEffect) =>
      Effect.tap(httpEffect, (response) => {
        const bytes = bytesHeld(response)
        return bytes === 0 ? Effect.void : hold(bytes)
      })
  }),
  { global: true }
)
