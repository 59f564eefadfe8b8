import { Effect, Option, Schema } from "effect"
import { NoPath, NoRoad } from "../../schema/DomainErrors.ts"
import { BadGateway, type GatewayTimeout, Internal, type Unavailable, ValidationFailed } from "../../schema/Errors.ts"

export type EngineFailure = Internal | ValidationFailed | NoRoad | NoPath | BadGateway | Unavailable | GatewayTimeout

export const unusable = () => new BadGateway({ message: "The routing engine sent an unusable response" })

const ourFault = () => new Internal({ message: "Something went wrong on our side" })

const Refusal = Schema.Struct({ error_code: Schema.Int })

const decodeRefusal = Schema.decodeUnknownOption(Refusal)

const tooMuch = (reason: string, message: string) =>
  new ValidationFailed({ message, details: { reason, issues: [{ path: "", message }] } })

/** Valhalla's error codes (`src/exceptions.cc`) that a client can act on. */
const REFUSALS: Readonly<Record<number, () => ValidationFailed | NoRoad | NoPath>> = {
  150: () => tooMuch("too_many_locations", "There are too many locations"),
  153: () => tooMuch("too_many_points", "The trace has too many points"),
  154: () => tooMuch("too_far", "The locations are too far apart"),
  158: () => tooMuch("too_far", "The trace is out of the engine's bounds"),
  172: () => tooMuch("too_far", "The points of the trace are too far apart"),
  170: () => new NoPath({ of: "locations" }),
  171: () => new NoRoad({}),
  442: () => new NoPath({ of: "locations" }),
  443: () => new NoPath({ of: "trace" }),
  444: () => new NoPath({ of: "trace" })
}

const isOurFault = (code: number) => code >= 100 && code < 150

export const refusalOf = Effect.fnUntraced(function*(body: unknown) {
  const code = Option.getOrUndefined(Option.map(decodeRefusal(body), ({ error_code }) => error_code))
  const refusal = code === undefined ? undefined : REFUSALS[code]
  if (refusal !== undefined) return yield* refusal()
  yield* Effect.logError("routing engine refused a request").pipe(
    Effect.annotateLogs({ engineCode: code ?? null })
  )
  return yield* code !== undefined && isOurFault(code) ? ourFault() : unusable()
})
