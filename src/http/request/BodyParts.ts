import { Context, Effect } from "effect"
import { ValidationFailed } from "../../schema/Errors.ts"
import type { Position } from "../../schema/Geometry.ts"
import { HeavyWork } from "../../services/admission/HeavyWork.ts"
import {
  BROKEN_POLYLINE6,
  type MeasuredPolyline,
  polyline6Bytes,
  readPolyline6
} from "../../services/geometry/MeasuredPolyline.ts"
import type { MeasuredTrace } from "../../services/routing/TraceJobs.ts"

export interface Parts {
  readonly line?: MeasuredPolyline
  /** Those of a batch, by operation. */
  readonly lines?: ReadonlyArray<MeasuredPolyline | undefined>
  readonly trace?: MeasuredTrace
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
    const line = yield* heavy.run(readPolyline6, encoded, polyline6Bytes(encoded))
    return line ?? (yield* ValidationFailed.of([BROKEN_POLYLINE6]))
  })

  return Effect.fnUntraced(function*<A extends GivenLine>({ geometry, polyline6, ...payload }: A) {
    const { line } = yield* BodyParts
    if (line !== undefined) return { ...payload, geometry: line }
    if (typeof polyline6 === "string") return { ...payload, geometry: yield* measure(polyline6) }
    const given = geometry === undefined ? polyline6 : geometry
    return given === undefined ? payload : { ...payload, geometry: given }
  })
})
