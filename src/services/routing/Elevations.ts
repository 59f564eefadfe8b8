import { Clock, Context, Duration, Effect, Layer } from "effect"
import { ELEVATION_TIMEOUT } from "../../schema/Limits.ts"
import { HeavyWork } from "../admission/HeavyWork.ts"
import type { Overloaded } from "../DomainErrors.ts"
import type { MeasuredPolyline } from "../geometry/MeasuredPolyline.ts"
import { type BarePositions, type FilledLine, fillHeights, readBare, readHeights } from "./ElevationJobs.ts"
import { type EngineFailure, readBy, RoutingEngine, unusable } from "./Engine.ts"

const CALLS_AT_ONCE = 2

export class Elevations extends Context.Service<Elevations, {
  /** Fills in elevations. Given ones stay, and a position for which the engine has none stays as it is. */
  readonly fill: (line: MeasuredPolyline) => Effect.Effect<FilledLine, EngineFailure>
  /** Leaves lines as they are if the engine fails, or that are not done within `ELEVATION_TIMEOUT`. */
  readonly fillIfPossible: (
    lines: ReadonlyArray<MeasuredPolyline>
  ) => Effect.Effect<ReadonlyArray<FilledLine>, Overloaded>
}>()("route-planning-service/Elevations") {
  static readonly layer = Layer.effect(
    Elevations,
    Effect.gen(function*() {
      const engine = yield* RoutingEngine
      const heavy = yield* HeavyWork

      const heightsOf = ({ count, polyline }: BarePositions) =>
        engine.call(
          "height",
          heightRequest(polyline),
          (text) => Effect.filterOrFail(readBy(heavy, readHeights)(text), ({ length }) => length === count, unusable)
        )

      const bareOf = (line: MeasuredPolyline) => heavy.run(readBare, line.json, line.json.length)

      const filledBy = (line: MeasuredPolyline, parts: ReadonlyArray<Float64Array>) => {
        const heights = Float64Array.from(parts.flatMap((part) => [...part]))
        return heavy.run(
          fillHeights,
          { json: line.json, segments: line.segments, heights },
          FILL_WEIGHT * line.json.length
        )
      }

      const fill = Effect.fnUntraced(function*(line: MeasuredPolyline) {
        const bare = yield* bareOf(line)
        if (bare.length === 0) return { line, filled: 0, missing: 0 }
        return yield* filledBy(line, yield* Effect.forEach(bare, heightsOf, { concurrency: CALLS_AT_ONCE }))
      })

      return Elevations.of({
        fill: fill,
        fillIfPossible: Effect.fnUntraced(function*(lines) {
          const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(ELEVATION_TIMEOUT)
          return yield* Effect.forEach(
            lines,
            (line) =>
              Effect.flatMap(
                Clock.currentTimeMillis,
                (now) =>
                  now >= end ? Effect.sync(() => asItIs(line)) : fill(line).pipe(
                    Effect.timeout(Duration.millis(end - now)),
                    Effect.catch(() => Effect.sync(() => asItIs(line)))
                  )
              )
          )
        })
      })
    })
  )
}

/** A line with all elevations has three numbers to a position, with a comma between any two. */
const asItIs = (line: MeasuredPolyline): FilledLine => {
  let commas = 0
  for (let at = line.json.indexOf(","); at !== -1; at = line.json.indexOf(",", at + 1)) commas++
  return { line, filled: 0, missing: Math.max(0, 3 * line.positionCount - 1 - commas) }
}

/** Measuring takes twice as long as parsing. */
const FILL_WEIGHT = 2

const heightRequest = (encoded_polyline: string) => JSON.stringify({ encoded_polyline, height_precision: 1 })
