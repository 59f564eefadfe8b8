import { Context, Effect } from "effect"
import type { RouteLine } from "../services/routes/RouteLine.ts"

/** The geometry of a long body, which was taken out of it and measured; none where it is in the body. */
export const MeasuredLine = Context.Reference<RouteLine | undefined>("route-planning-service/MeasuredLine", {
  defaultValue: () => undefined
})

/** The payload with its geometry, measured or as it came. */
export const withGeometry = <A extends object>(payload: A) =>
  Effect.map(MeasuredLine, (line) => line === undefined ? payload : { ...payload, geometry: line })
