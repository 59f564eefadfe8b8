import { Schema, Struct } from "effect"
import { upTo } from "./Measures.ts"
import { named } from "./Named.ts"
import { optionalMember } from "./Optional.ts"
import { Visibility } from "./Resource.ts"
import { isCodePointLength, WellFormedString } from "./Text.ts"

export const Activity = Schema.Literals(["run", "cycle", "walk"]).annotate({ description: "By which activity" })
export type Activity = typeof Activity.Type

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
  surfacePreference: OpenValue.annotate({ description: "Known: `paved`, `any`, `unpaved`" }),
  avoidFerries: Schema.Boolean.annotate({ description: "Whether to avoid ferries" }),
  avoidHighways: Schema.Boolean.annotate({ description: "Whether to avoid large roads" })
}

const ASKED_OF_ENGINE = "What a route asks of the routing engine."

/** Examples have these preferences; they are no defaults. */
export const ROUTING_PREFERENCES = { surfacePreference: "unpaved", avoidFerries: true }

/** These preferences do not depend on the engine. */
export const RoutingPreferences = optionalMembers(routingPreferences).annotate(
  named("RoutingPreferences", ASKED_OF_ENGINE, ROUTING_PREFERENCES)
)
export type RoutingPreferences = typeof RoutingPreferences.Type

export const RequestedPreferences = Schema.Struct({
  surfacePreference: optionalMember(routingPreferences.surfacePreference),
  avoidFerries: optionalMember(routingPreferences.avoidFerries),
  avoidHighways: optionalMember(routingPreferences.avoidHighways)
}).annotate({ description: "What the route asks of the routing engine" })

const members = {
  units: OpenValue.annotate({ description: "Known: `metric`, `imperial`" }),
  showPois: Schema.Boolean.annotate({ description: "Whether points of interest are shown" }),
  terrain3d: Schema.Boolean.annotate({ description: "Whether the map shows the terrain" }),
  autoSnap: Schema.Boolean.annotate({ description: "Whether new points snap to roads" }),
  defaultActivity: OpenValue.annotate({ description: "Known: `run`, `cycle`, `walk`" }),
  selectedSports: Schema.Array(OpenValue).check(Schema.isMaxLength(50)).annotate({
    description: "The activities that the user has chosen"
  }),
  mapStyle: OpenValue.annotate({ description: "The name of a style" }),
  defaultRouteVisibility: Visibility.annotate({ description: "What pages and imports offer for a new route" })
}

const sportSpeeds = { run: Speed, cycle: Speed, walk: Speed }

const Overlay = Schema.Boolean.annotate({ description: "Whether this layer of the map is shown" })

const overlays = {
  heatmap: Overlay,
  contour: Overlay,
  bike: Overlay,
  surface: Schema.Boolean.annotate({ description: "Whether surfaces are shown" }),
  wind: Overlay,
  hikingNodes: Overlay,
  cyclingNodes: Overlay
}

const WORDS = {
  sportSpeeds: { description: "Usual speeds, by activity" },
  overlays: { description: "The layers of the map" },
  routingDefaults: { description: "What new routes ask of the routing engine, by activity" }
}

const byActivity = <S extends Schema.Constraint>(preferences: S) => ({
  cycle: preferences,
  run: preferences,
  walk: preferences
})

/** Examples have these preferences; they are no defaults. */
export const PREFERENCES = { units: "metric", defaultActivity: "cycle", defaultRouteVisibility: "private" } as const

export const Preferences = optionalMembers({
  ...members,
  sportSpeeds: optionalMembers(sportSpeeds).annotate(WORDS.sportSpeeds),
  overlays: optionalMembers(overlays).annotate(WORDS.overlays),
  routingDefaults: optionalMembers(byActivity(RoutingPreferences)).annotate(WORDS.routingDefaults)
}).annotate(named("Preferences", "The settings of a user.", PREFERENCES))
export type Preferences = typeof Preferences.Type

/** Sets members, or clears them by `null`; merges objects, replaces arrays. */
export const PreferencesPatch = clearableMembers({
  ...members,
  sportSpeeds: clearableMembers(sportSpeeds).annotate(WORDS.sportSpeeds),
  overlays: clearableMembers(overlays).annotate(WORDS.overlays),
  routingDefaults: clearableMembers(
    byActivity(clearableMembers(routingPreferences).annotate({ description: "For this activity" }))
  ).annotate(WORDS.routingDefaults)
}).annotate(
  named(
    "PreferencesPatch",
    "What to change of the settings: `null` clears a member, objects are merged, arrays replaced.",
    { units: "imperial", mapStyle: null }
  )
)
export type PreferencesPatch = typeof PreferencesPatch.Type
