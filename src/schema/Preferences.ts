import { Schema } from "effect"
import { isCodePointLength, WellFormedString } from "./Text.ts"

/** A value out of an open set: known ones are documented, unknown ones are kept. */
export const OpenValue = WellFormedString.check(isCodePointLength(1, 64))

export const Visibility = Schema.Literals(["private", "unlisted", "public"])
export type Visibility = typeof Visibility.Type

export const Activity = Schema.Literals(["run", "cycle", "walk"])
export type Activity = typeof Activity.Type

/** What a route asks of the routing engine, in our own words. Known surface preferences: `paved`, `any`, `unpaved`. */
export const RoutingPreferences = Schema.Struct({
  surfacePreference: Schema.optionalKey(OpenValue),
  avoidFerries: Schema.optionalKey(Schema.Boolean),
  avoidHighways: Schema.optionalKey(Schema.Boolean)
})
export type RoutingPreferences = typeof RoutingPreferences.Type

/** Kilometres per hour. */
const Speed = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 200 }))

/** A user's settings. All members are optional; unknown members are ignored and never stored. */
export const Preferences = Schema.Struct({
  units: Schema.optionalKey(OpenValue),
  showPois: Schema.optionalKey(Schema.Boolean),
  terrain3d: Schema.optionalKey(Schema.Boolean),
  autoSnap: Schema.optionalKey(Schema.Boolean),
  defaultActivity: Schema.optionalKey(OpenValue),
  selectedSports: Schema.optionalKey(Schema.Array(OpenValue).check(Schema.isMaxLength(50))),
  sportSpeeds: Schema.optionalKey(Schema.Struct({
    run: Schema.optionalKey(Speed),
    cycle: Schema.optionalKey(Speed),
    walk: Schema.optionalKey(Speed)
  })),
  mapStyle: Schema.optionalKey(OpenValue),
  overlays: Schema.optionalKey(Schema.Struct({
    heatmap: Schema.optionalKey(Schema.Boolean),
    contour: Schema.optionalKey(Schema.Boolean),
    bike: Schema.optionalKey(Schema.Boolean),
    surface: Schema.optionalKey(Schema.Boolean),
    wind: Schema.optionalKey(Schema.Boolean),
    hikingNodes: Schema.optionalKey(Schema.Boolean),
    cyclingNodes: Schema.optionalKey(Schema.Boolean)
  })),
  defaultRouteVisibility: Schema.optionalKey(Visibility),
  routingDefaults: Schema.optionalKey(Schema.Struct({
    cycle: Schema.optionalKey(RoutingPreferences),
    run: Schema.optionalKey(RoutingPreferences),
    walk: Schema.optionalKey(RoutingPreferences)
  }))
})
export type Preferences = typeof Preferences.Type
