import { Context, Effect, Layer, Metric, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { RateLimited, Unavailable } from "../../schema/Errors.ts"
import { DOWNLOADS_AN_ADDRESS } from "../../schema/Limits.ts"
import { makeAddressShares, type Shares } from "../request/AddressShares.ts"

export const DownloadLimits = Context.Reference<Shares>("route-planning-service/DownloadLimits", {
  defaultValue: () => ({
    perAddress: DOWNLOADS_AN_ADDRESS,
    perNetwork: 2 * DOWNLOADS_AN_ADDRESS,
    anonymous: 24,
    total: 32
  })
})

const running = Metric.gauge("downloads_running", {
  description: "Files of routes and exports of accounts that are being sent"
})

/** Bounds downloads, since clients may read them slowly or not at all. */
export class Downloads extends Context.Service<Downloads, {
  /** Admits a download until the scope closes. Fails with `RateLimited` above the share of an address or a network. */
  readonly admit: Effect.Effect<void, RateLimited | Unavailable, HttpServerRequest.HttpServerRequest | Scope.Scope>
}>()("route-planning-service/Downloads") {
  static readonly layer = Layer.effect(
    Downloads,
    Effect.gen(function*() {
      yield* Metric.update(running, 0)
      const shares = makeAddressShares("downloads", yield* DownloadLimits)
      const admit = Effect.flatMap(shares.reserve, ({ take }) => take(1))
      const counted = Effect.acquireRelease(Metric.modify(running, 1), () => Metric.modify(running, -1))
      return Downloads.of({ admit: Effect.andThen(admit, counted) })
    })
  )
}
