import { Effect, Option, Schema } from "effect"
import {
  BeyondEngine,
  type EngineBusy,
  EngineMisused,
  type InvalidInput,
  NoPath,
  NoRoad,
  type Overloaded,
  type TraceTooLong,
  UpstreamUnusable
} from "../DomainErrors.ts"
import type { UpstreamFailure } from "../upstream/Upstream.ts"

export type EngineFailure =
  | UpstreamFailure
  | EngineBusy
  | EngineMisused
  | BeyondEngine
  | TraceTooLong
  | NoRoad
  | NoPath
  | InvalidInput
  | Overloaded

export const ENGINE = "The routing engine"

export const unusable = () => new UpstreamUnusable({ name: ENGINE })

const Refusal = Schema.Struct({ error_code: Schema.Int })

const decodeRefusal = Schema.decodeUnknownOption(Refusal)

/** Valhalla's error codes (`src/exceptions.cc`) that a client can act on. */
const REFUSALS: Readonly<Record<number, () => BeyondEngine | NoRoad | NoPath>> = {
  150: () => new BeyondEngine({ limit: "locations" }),
  153: () => new BeyondEngine({ limit: "points" }),
  154: () => new BeyondEngine({ limit: "distance" }),
  158: () => new BeyondEngine({ limit: "bounds" }),
  172: () => new BeyondEngine({ limit: "gaps" }),
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
  return yield* code !== undefined && isOurFault(code) ? new EngineMisused() : unusable()
})
