import { Context, Effect, Layer, Metric, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { RateLimited, Unavailable } from "../../schema/Errors.ts"
import { DOWNLOADS_AN_ADDRESS } from "../../schema/Limits.ts"
import { makeAddressShares, type Shares } from "../request/AddressShares.ts"

/** How many files may be on their way to one address, and in all. */
export const DownloadLimits = Context.Reference<Shares>("route-planning-service/DownloadLimits", {
  defaultValue: () => ({ perAddress: DOWNLOADS_AN_ADDRESS, total: 32 })
})

const running = Metric.gauge("downloads_running", {
  description: "Files of routes and exports of accounts that are being sent"
})

/** Bounds the files that clients take slowly, or not at all. */
export class Downloads extends Context.Service<Downloads, {
  /**
   * Lets a download to the client of the current request begin, which lasts until the scope closes. `RateLimited` when its
   * address has as many as it may, `Unavailable` when all addresses together have.
   */
  readonly admit: Effect.Effect<void, RateLimited | Unavailable, HttpServerRequest.HttpServerRequest | Scope.Scope>
}>()("route-planning-service/Downloads") {
  static readonly layer = Layer.effect(
    Downloads,
    Effect.gen(function*() {
      yield* Metric.update(running, 0)
      const admit = makeAddressShares("downloads", yield* DownloadLimits)
      const counted = Effect.acquireRelease(Metric.modify(running, 1), () => Metric.modify(running, -1))
      return Downloads.of({ admit: Effect.andThen(admit(1), counted) })
    })
  )
}
