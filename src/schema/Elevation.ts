import { Schema } from "effect"
import { Polyline6Input, Positions } from "./Geometry.ts"
import { Count, Metres } from "./Measures.ts"
import { named } from "./Named.ts"
import { decimal, flag, knownQuery } from "./Page.ts"
import { oneGeometry } from "./Route.ts"

export const ElevationRequest = Schema.Struct({
  geometry: Schema.optionalKey(Schema.NullOr(Positions)),
  polyline6: Schema.optionalKey(Schema.NullOr(Polyline6Input))
}).check(oneGeometry).annotate(named("ElevationRequest", "A line whose elevations are to be filled.", {
  geometry: [[9.5209, 47.1415, 455], [9.5254, 47.144]]
}))

export const ElevationAnswer = Schema.Struct({
  geometry: Positions,
  filled: Count.annotate({ description: "How many positions got an elevation" }),
  missing: Count.annotate({ description: "How many still have none" })
}).annotate(named("ElevationAnswer", "A line with elevations.", {
  geometry: [[9.5209, 47.1415, 455], [9.5254, 47.144, 461.3]],
  filled: 1,
  missing: 0
}))

export const ElevationFields = {
  elevation: flag(
    "`true` takes missing elevations from the routing engine; what it does not have is named by `warnings`"
  )
}

export const ElevationQuery = knownQuery(ElevationFields)

const DEFAULT_SAMPLES = 200

const MAX_SAMPLES = 1000

export const ProfileQuery = knownQuery({
  points: Schema.optionalKey(decimal(2, MAX_SAMPLES, `At most how many points; ${DEFAULT_SAMPLES} if absent`))
})

export const samplesOf = ({ points = DEFAULT_SAMPLES }: { readonly points?: number }): number => points

/** `points` is empty for a route without elevations. */
export const ElevationProfile = Schema.Struct({
  distance: Metres.annotate({ description: "Metres along the line that the caller sees" }),
  points: Schema.Array(
    Schema.Struct({
      distance: Metres.annotate({ description: "Metres from the start of the line" }),
      height: Schema.NullOr(Metres).annotate({ description: "Metres; `null` beside positions without an elevation" })
    }).annotate(named("ProfilePoint", "A point of an elevation profile.", { distance: 0, height: 455 }))
  ).annotate({ description: "Along the line, in order" })
}).annotate(named("ElevationProfile", "The elevations along a line.", {
  distance: 441.2,
  points: [{ distance: 0, height: 455 }, { distance: 441.2, height: 461.3 }]
}))
export type ElevationProfile = typeof ElevationProfile.Type
