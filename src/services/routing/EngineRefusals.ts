import { Effect, Option, Schema } from "effect"
import {
  BadGateway,
  type GatewayTimeout,
  Internal,
  NotFound,
  type Unavailable,
  ValidationFailed
} from "../../schema/Errors.ts"

export type EngineFailure = Internal | ValidationFailed | NotFound | BadGateway | Unavailable | GatewayTimeout

export const NO_ROAD = "no_road_near_location"

export const NO_PATH = "no_path"

export const unusable = new BadGateway({ message: "The routing engine sent an unusable response" })

const ourFault = new Internal({ message: "Something went wrong on our side" })

const Refusal = Schema.Struct({ error_code: Schema.Int })

const decodeRefusal = Schema.decodeUnknownOption(Refusal)

export const isNotFound = (reason: string) => (error: EngineFailure) =>
  error._tag === "NotFound" && error.details?.["reason"] === reason

const notFound = (reason: string, message: string) => new NotFound({ message, details: { reason } })

const tooMuch = (reason: string, message: string) =>
  new ValidationFailed({ message, details: { reason, issues: [{ path: "", message }] } })

export const noRoadsFollowed = notFound(NO_PATH, "The trace does not follow any roads")

/** Valhalla's error codes (`src/exceptions.cc`) that a client can act on. */
const REFUSALS: Readonly<Record<number, () => ValidationFailed | NotFound>> = {
  150: () => tooMuch("too_many_locations", "There are too many locations"),
  153: () => tooMuch("too_many_points", "The trace has too many points"),
  154: () => tooMuch("too_far", "The locations are too far apart"),
  158: () => tooMuch("too_far", "The trace is out of the engine's bounds"),
  172: () => tooMuch("too_far", "The points of the trace are too far apart"),
  170: () => notFound(NO_PATH, "There is no path between the locations"),
  171: () => notFound(NO_ROAD, "There is no road near a location"),
  442: () => notFound(NO_PATH, "There is no path between the locations"),
  443: () => noRoadsFollowed,
  444: () => noRoadsFollowed
}

const isOurFault = (code: number) => code >= 100 && code < 150

export const refusalOf = Effect.fnUntraced(function*(body: unknown) {
  const code = Option.getOrUndefined(Option.map(decodeRefusal(body), ({ error_code }) => error_code))
  const refusal = code === undefined ? undefined : REFUSALS[code]
  if (refusal !== undefined) return yield* refusal()
  yield* Effect.logError("routing engine refused a request").pipe(
    Effect.annotateLogs({ engineCode: code ?? null })
  )
  return yield* code !== undefined && isOurFault(code) ? ourFault : unusable
})
