import type { Activity, RoutingPreferences } from "../../schema/Preferences.ts"

/** What the engine calls a costing, with its options. Out-of-range values are reset by the engine without a word. */
export interface Costing {
  readonly costing: "bicycle" | "pedestrian"
  readonly costing_options: Readonly<Record<string, Readonly<Record<string, string | number>>>>
}

type Options = Readonly<Record<string, string | number>>

const BICYCLE_SURFACE: Readonly<Record<string, Options>> = {
  // 1 would forbid them, also at the start and the end.
  paved: { bicycle_type: "Road", avoid_bad_surfaces: 0.8 },
  unpaved: { bicycle_type: "Cross", avoid_bad_surfaces: 0, use_roads: 0.1 }
}

/** Pedestrian costing knows no surfaces: tracks are the nearest that it knows. */
const PEDESTRIAN_SURFACE: Readonly<Record<string, Options>> = {
  paved: { use_tracks: 0 },
  unpaved: { use_tracks: 1 }
}

/** Where the client gives none: the engine's own is a walk's. */
const SPEED_KMH: Partial<Record<Activity, number>> = { run: 10 }

/** What a client may prefer; another value is served as `any`. */
export const SURFACES = ["paved", "any", "unpaved"]

const FERRIES: Options = { use_ferry: 0 }

const surfaceOf = (table: Readonly<Record<string, Options>>, { surfacePreference }: RoutingPreferences): Options =>
  Object.entries(table).find(([surface]) => surface === surfacePreference)?.[1] ?? {}

const bicycle = (preferences: RoutingPreferences): Options => ({
  bicycle_type: "Hybrid",
  ...surfaceOf(BICYCLE_SURFACE, preferences),
  ...(preferences.avoidFerries === true ? FERRIES : {}),
  ...(preferences.avoidHighways === true ? { use_roads: 0.1 } : {})
})

const pedestrian = (preferences: RoutingPreferences, walkingSpeedKmh: number | undefined): Options => ({
  ...surfaceOf(PEDESTRIAN_SURFACE, preferences),
  ...(preferences.avoidFerries === true ? FERRIES : {}),
  ...(preferences.avoidHighways === true ? { walkway_factor: 0.8, sidewalk_factor: 0.9 } : {}),
  ...(walkingSpeedKmh === undefined ? {} : { walking_speed: walkingSpeedKmh })
})

/** Our preferences as options of Valhalla (costing options of its route API). */
export const costingOf = (
  activity: Activity,
  preferences: RoutingPreferences,
  walkingSpeedKmh: number | undefined
): Costing =>
  activity === "cycle"
    ? { costing: "bicycle", costing_options: { bicycle: bicycle(preferences) } }
    : {
      costing: "pedestrian",
      costing_options: { pedestrian: pedestrian(preferences, walkingSpeedKmh ?? SPEED_KMH[activity]) }
    }
