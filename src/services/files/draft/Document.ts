import type { Position } from "../../../schema/Geometry.ts"
import type { Dropped, FileFormat, ImportWarning } from "../../../schema/Import.ts"
import type { Maneuver } from "../../../schema/Maneuver.ts"
import type { Activity } from "../../../schema/Preferences.ts"
import type { Waypoint } from "../../../schema/Route.ts"

export type TextFormat = Exclude<FileFormat, "fit">

export interface RouteDocument {
  readonly name: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly activity?: Activity
  readonly waypoints: ReadonlyArray<Waypoint>
  readonly geometry: ReadonlyArray<Position>
  readonly cues?: ReadonlyArray<Maneuver>
}

/** `createdAt` is ISO 8601, `duration` in seconds. */
export type WrittenRoute = RouteDocument & {
  readonly createdAt?: string
  readonly duration?: number
}

/** Why an import drops a part of a file. */
export const UNUSED = "a route has no place for it"
export const OTHER_SHAPE = "a route has a line and points only"

export const droppedIf = (count: number, what: string, why: string): ReadonlyArray<Dropped> =>
  count === 0 ? [] : [{ what, why, count }]

/** Where they differ from those of the stored polyline: metres, seconds and metres. */
export interface Measures {
  readonly distance?: number
  readonly duration?: number
  readonly elevationGain?: number
}

export interface ReadRoute {
  readonly document: RouteDocument
  readonly measures: Measures
  readonly dropped: ReadonlyArray<Dropped>
  readonly warnings: ReadonlyArray<ImportWarning>
}

export interface DraftWaypoint {
  readonly coord: readonly [lng: number, lat: number]
  readonly type: string | undefined
  readonly name: string | undefined
  readonly timestamp: string | undefined
}

/** The first name and description with a text count. */
interface About {
  readonly names: ReadonlyArray<string | undefined>
  readonly descriptions: ReadonlyArray<string | undefined>
  readonly tags: ReadonlyArray<string>
  readonly activity: string | undefined
  readonly waypoints: ReadonlyArray<DraftWaypoint>
  /** In files that this service wrote. */
  readonly cues?: ReadonlyArray<Maneuver>
}

export const NOTHING_SAID: About = { names: [], descriptions: [], tags: [], activity: undefined, waypoints: [] }

export interface DraftTrack extends About {
  /** Recorded parts with gaps between them. None is empty. */
  readonly segments: ReadonlyArray<ReadonlyArray<Position>>
  readonly seconds: number | undefined
  readonly file?: string | undefined
}

export interface DraftFile extends About {
  readonly tracks: ReadonlyArray<DraftTrack>
  readonly dropped: ReadonlyArray<Dropped>
}

export interface Draft extends About {
  readonly segments: ReadonlyArray<ReadonlyArray<Position>>
  readonly seconds: number | undefined
  readonly dropped: ReadonlyArray<Dropped>
}
