import type { Activity, RoutingPreferences } from "../../schema/Preferences.ts"

/** Costing options of Valhalla, which silently resets values out of range. */
export interface Costing {
  readonly costing: "bicycle" | "pedestrian"
  readonly costing_options: Readonly<Record<string, Readonly<Record<string, string | number>>>>
}

type Options = Readonly<Record<string, string | number>>

const BICYCLE_SURFACE: Readonly<Record<string, Options>> = {
  // 1 would forbid bad surfaces, also at the start and the end.
  paved: { bicycle_type: "Road", avoid_bad_surfaces: 0.8 },
  unpaved: { bicycle_type: "Cross", avoid_bad_surfaces: 0, use_roads: 0.1 }
}

/** Pedestrian costing has no surfaces; tracks come closest. */
const PEDESTRIAN_SURFACE: Readonly<Record<string, Options>> = {
  paved: { use_tracks: 0 },
  unpaved: { use_tracks: 1 }
}

/** The engine's own default is that of a walk. */
const SPEED_KMH: Partial<Record<Activity, number>> = { run: 10 }

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
