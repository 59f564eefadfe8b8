import { Clock, Context, Duration, Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { RequestTimeout, ValidationFailed } from "../schema/Errors.ts"

/** How long a body may take to arrive: this time, and as much more as its bytes need at the lowest rate. */
export const BodyAllowance = Context.Reference<{ readonly grace: Duration.Duration; readonly bytesPerSecond: number }>(
  "route-planning-service/BodyAllowance",
  { defaultValue: () => ({ grace: Duration.seconds(30), bytesPerSecond: 64 * 1024 }) }
)

/** The deadline of the current response. It stands still while the body of the request arrives, and then begins. */
export const ResponseDeadline = Context.Reference<
  { readonly pause: Effect.Effect<void>; readonly begin: Effect.Effect<void> }
>("route-planning-service/ResponseDeadline", { defaultValue: () => ({ pause: Effect.void, begin: Effect.void }) })

const incomplete = () => ValidationFailed.at("", "The body is cut off, or its chunks are malformed")

/**
 * The body of a request as it comes. `ValidationFailed` when it is cut off or badly chunked, `RequestTimeout` when it comes
 * more slowly than `BodyAllowance` allows. Stopping leaves the connection open, so that there can be a response.
 */
export const arrivingBody = (
  request: HttpServerRequest.HttpServerRequest
): Stream.Stream<Uint8Array, RequestTimeout | ValidationFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    const { bytesPerSecond, grace } = yield* BodyAllowance
    const deadline = yield* ResponseDeadline
    const started = yield* Clock.currentTimeMillis
    const arrived = { bytes: 0 }

    // What arrives prolongs the wait, so there is one timer for all of it and not one for each piece.
    const late: Effect.Effect<never, RequestTimeout> = Effect.gen(function*() {
      const allowed = Duration.toMillis(grace) + arrived.bytes / bytesPerSecond * 1000
      const left = started + allowed - (yield* Clock.currentTimeMillis)
      if (left <= 0) {
        return yield* new RequestTimeout({
          message: `The body did not arrive in time: it has ${
            Duration.format(grace)
          }, and longer at ${bytesPerSecond} bytes/s`
        })
      }
      yield* Effect.sleep(Duration.millis(left))
      return yield* late
    })

    yield* deadline.pause
    return request.stream.pipe(
      Stream.mapError(incomplete),
      Stream.map((bytes) => {
        arrived.bytes += bytes.length
        return bytes
      }),
      Stream.interruptWhen(late),
      Stream.ensuring(deadline.begin)
    )
  }))
