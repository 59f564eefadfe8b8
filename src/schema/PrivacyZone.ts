import { Schema } from "effect"
import { Coordinate } from "./Geometry.ts"
import { named } from "./Named.ts"
import { trimmedText } from "./Text.ts"

export const MAX_ZONES = 10

/** Radii are in metres. */
export const ZONE_RADIUS = { minimum: 100, maximum: 2000 } as const

export const ZONE = { center: [9.5209, 47.1415], radius: 500, label: "Home" } as const

export const PrivacyZone = Schema.Struct({
  center: Coordinate.annotate({ description: "The middle of the circle: longitude, latitude" }),
  radius: Schema.Finite.check(Schema.isBetween(ZONE_RADIUS)).annotate({ description: "In metres" }),
  label: Schema.optionalKey(Schema.NullOr(trimmedText(0, 100)))
}).annotate(named("PrivacyZone", "A circle that is hidden from others.", ZONE))
export type PrivacyZone = typeof PrivacyZone.Type

export const ZoneList = Schema.Array(PrivacyZone).check(Schema.isMaxLength(MAX_ZONES)).annotate({
  description: "All of them"
})

export const PrivacyZones = Schema.Struct({ zones: ZoneList }).annotate(
  named("PrivacyZones", "The privacy zones of an account.", { zones: [ZONE] })
)
export type PrivacyZones = typeof PrivacyZones.Type
