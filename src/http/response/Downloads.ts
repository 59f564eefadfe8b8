import { Cause, Clock, Context, Duration, Effect, Layer, Metric, type Scope, Stream } from "effect"
import { HttpServerError, type HttpServerRequest } from "effect/http"
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

/** A client may take a long response `grace` more slowly than at the lowest rate. */
export const ReadAllowance = Context.Reference<{ readonly grace: Duration.Duration; readonly bytesPerSecond: number }>(
  "route-planning-service/ReadAllowance",
  { defaultValue: () => ({ grace: Duration.seconds(30), bytesPerSecond: 16 * 1024 }) }
)

const { annotation } = HttpServerError.ClientAbort

/** Ends the response like a client that has hung up. */
const hungUp = Effect.failCause(Cause.annotate(Cause.interrupt(), annotation))

/** Ends a response of unknown length whose client is behind its `ReadAllowance`. Only time with more to take counts. */
export const takenInTime = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>) =>
  Stream.transformPull(bytes, (pull) =>
    Effect.gen(function*() {
      const { bytesPerSecond, grace } = yield* ReadAllowance
      const clock = yield* Clock.Clock
      const mostLeft = Duration.toMillis(grace)
      const state = { left: mostLeft, sent: clock.currentTimeMillisUnsafe() }
      return Effect.suspend(() => {
        state.left -= clock.currentTimeMillisUnsafe() - state.sent
        if (state.left < 0) return hungUp
        return Effect.tap(pull, (parts) =>
          Effect.sync(() => {
            const bytes = parts.reduce((sum, { length }) => sum + length, 0)
            state.left = Math.min(mostLeft, state.left + bytes / bytesPerSecond * 1000)
            state.sent = clock.currentTimeMillisUnsafe()
          }))
      })
    }))

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
