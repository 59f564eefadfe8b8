import { Schema } from "effect"
import { Coordinate } from "./Geometry.ts"
import { trimmedText } from "./Text.ts"

export const MAX_ZONES = 10

/** In metres. */
export const ZONE_RADIUS = { minimum: 100, maximum: 2000 } as const

export const PrivacyZone = Schema.Struct({
  center: Coordinate,
  radius: Schema.Finite.check(Schema.isBetween(ZONE_RADIUS)).annotate({ description: "In metres" }),
  label: Schema.optionalKey(Schema.NullOr(trimmedText(0, 100)))
}).annotate({ identifier: "PrivacyZone" })
export type PrivacyZone = typeof PrivacyZone.Type

export const ZoneList = Schema.Array(PrivacyZone).check(Schema.isMaxLength(MAX_ZONES))

export const PrivacyZones = Schema.Struct({ zones: ZoneList }).annotate({ identifier: "PrivacyZones" })
export type PrivacyZones = typeof PrivacyZones.Type
