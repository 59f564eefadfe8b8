import { Context, Effect } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import type { Position } from "../../schema/Geometry.ts"
import { BROKEN_LINE, encodedBytes, readEncodedLine } from "../../services/geometry/EncodedLine.ts"
import type { RouteLine } from "../../services/geometry/RouteLine.ts"
import { HeavyWork } from "../../services/heavy/HeavyWork.ts"
import type { MeasuredTrace } from "../../services/routing/MeasuredTrace.ts"

export interface Parts {
  /** The geometry of a long body, removed from its text. */
  readonly line?: RouteLine
  /** Those of a batch, by operation. */
  readonly lines?: ReadonlyArray<RouteLine | undefined>
  readonly trace?: MeasuredTrace
  /** SHA-256 of the body. */
  readonly digest?: () => string
}

export const BodyParts = Context.Reference<Parts>("route-planning-service/BodyParts", { defaultValue: () => ({}) })

export const bodyDigest = Effect.map(BodyParts, ({ digest }) => digest ?? (() => ""))

interface GivenLine {
  readonly geometry?: ReadonlyArray<Position> | null
  readonly polyline6?: string | null
}

/** Null in `geometry` or `polyline6` clears the geometry. */
export const makeWithGeometry = Effect.map(HeavyWork, (heavy) => {
  const measure = Effect.fnUntraced(function*(encoded: string) {
    const line = yield* heavy.run(readEncodedLine, encoded, encodedBytes(encoded))
    return line ?? (yield* ValidationFailed.of([BROKEN_LINE]))
  })

  return Effect.fnUntraced(function*<A extends GivenLine>({ geometry, polyline6, ...payload }: A) {
    const { line } = yield* BodyParts
    if (line !== undefined) return { ...payload, geometry: line }
    if (typeof polyline6 === "string") return { ...payload, geometry: yield* measure(polyline6) }
    const given = geometry === undefined ? polyline6 : geometry
    return given === undefined ? payload : { ...payload, geometry: given }
  })
})
