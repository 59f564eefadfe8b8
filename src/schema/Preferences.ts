import { Schema, Struct } from "effect"
import { upTo } from "./Measures.ts"
import { optionalMember } from "./Optional.ts"
import { isCodePointLength, WellFormedString } from "./Text.ts"
import { Visibility } from "./Visibility.ts"

export const MAX_OPEN_VALUE = 64

/** Known values are documented, unknown ones are kept. */
export const OpenValue = WellFormedString.check(isCodePointLength(1, MAX_OPEN_VALUE))

const Speed = Schema.Finite.check(upTo(200)).annotate({
  description: "Kilometres per hour"
})

const optionalMembers = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).mapFields(Struct.map(Schema.optionalKey))

const clearableMembers = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).mapFields(Struct.map(Schema.NullOr)).mapFields(Struct.map(Schema.optionalKey))

export const DEFAULT_UNITS = "metric"
const routingPreferences = {
  surfacePreference: OpenValue,
  avoidFerries: Schema.Boolean,
  avoidHighways: Schema.Boolean
}

/** Independent of the engine. Known surface preferences: `paved`, `any`, `unpaved`. */
export const RoutingPreferences = optionalMembers(routingPreferences).annotate({ identifier: "RoutingPreferences" })
export type RoutingPreferences = typeof RoutingPreferences.Type

export const RequestedPreferences = Schema.Struct({
  surfacePreference: optionalMember(OpenValue),
  avoidFerries: optionalMember(Schema.Boolean),
  avoidHighways: optionalMember(Schema.Boolean)
})

const members = {
  units: OpenValue,
  showPois: Schema.Boolean,
  terrain3d: Schema.Boolean,
  autoSnap: Schema.Boolean,
  defaultActivity: OpenValue,
  selectedSports: Schema.Array(OpenValue).check(Schema.isMaxLength(50)),
  mapStyle: OpenValue,
  defaultRouteVisibility: Visibility
}

const sportSpeeds = { run: Speed, cycle: Speed, walk: Speed }

const overlays = {
  heatmap: Schema.Boolean,
  contour: Schema.Boolean,
  bike: Schema.Boolean,
  surface: Schema.Boolean,
  wind: Schema.Boolean,
  hikingNodes: Schema.Boolean,
  cyclingNodes: Schema.Boolean
}

const byActivity = <S extends Schema.Constraint>(preferences: S) => ({
  cycle: preferences,
  run: preferences,
  walk: preferences
})

export const Preferences = optionalMembers({
  ...members,
  sportSpeeds: optionalMembers(sportSpeeds),
  overlays: optionalMembers(overlays),
  routingDefaults: optionalMembers(byActivity(RoutingPreferences))
}).annotate({ identifier: "Preferences" })
export type Preferences = typeof Preferences.Type

/** Sets members, or clears them by `null`; merges objects, replaces arrays. */
export const PreferencesPatch = clearableMembers({
  ...members,
  sportSpeeds: clearableMembers(sportSpeeds),
  overlays: clearableMembers(overlays),
  routingDefaults: clearableMembers(byActivity(clearableMembers(routingPreferences)))
}).annotate({ identifier: "PreferencesPatch" })
export type PreferencesPatch = typeof PreferencesPatch.Type
