import { Context, Effect } from "effect"
import type { RouteLine } from "../services/routes/RouteLine.ts"
import type { MeasuredTrace } from "../services/routing/MeasuredTrace.ts"

/** What is known of the body of a request beside its text. */
export interface Parts {
  /** The geometry of a long body, which was taken out of it and measured. */
  readonly line?: RouteLine
  /** The points of a long trace, likewise. */
  readonly trace?: MeasuredTrace
  /** SHA-256 of the body, where the request may be repeated. */
  readonly digest?: string
}

export const BodyParts = Context.Reference<Parts>("route-planning-service/BodyParts", { defaultValue: () => ({}) })

/** The payload with its geometry, measured or as it came. */
export const withGeometry = <A extends object>(payload: A) =>
  Effect.map(BodyParts, ({ line }) => line === undefined ? payload : { ...payload, geometry: line })
