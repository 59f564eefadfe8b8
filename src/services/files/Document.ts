import type { Position } from "../../schema/Geometry.ts"
import type { Dropped, FileFormat, ImportWarning } from "../../schema/Import.ts"
import type { Activity } from "../../schema/Preferences.ts"
import type { Waypoint } from "../../schema/Route.ts"

/** The formats that are text. */
export type TextFormat = Exclude<FileFormat, "fit">

/** What a file says of a route. */
export interface RouteDocument {
  readonly name: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly activity?: Activity
  readonly waypoints: ReadonlyArray<Waypoint>
  readonly geometry: ReadonlyArray<Position>
}

/** A route to be written; `createdAt` is an ISO 8601 instant, `duration` in seconds. */
export type WrittenRoute = RouteDocument & { readonly createdAt?: string; readonly duration?: number }

/** Nothing where there is none. */
export const droppedIf = (count: number, what: string, why: string): ReadonlyArray<Dropped> =>
  count === 0 ? [] : [{ what, why, count }]

/** What is measured in a file and not on the line that is stored: metres, seconds and metres. */
export interface Measures {
  readonly distance?: number
  readonly duration?: number
  readonly elevationGain?: number
}

/** A route as it was understood. Both lists keep the order of the file. */
export interface ReadRoute {
  readonly document: RouteDocument
  readonly measures: Measures
  readonly dropped: ReadonlyArray<Dropped>
  /** What was done to this route, and what of it was dropped. */
  readonly warnings: ReadonlyArray<ImportWarning>
}

/** A point of a file before any limit was applied to its texts. */
export interface DraftWaypoint {
  readonly coord: readonly [lng: number, lat: number]
  readonly type: string | undefined
  readonly name: string | undefined
  readonly timestamp: string | undefined
}

/** What a file says of a route, or of all its routes. Of several names the first that says something counts. */
interface About {
  readonly names: ReadonlyArray<string | undefined>
  readonly descriptions: ReadonlyArray<string | undefined>
  readonly tags: ReadonlyArray<string>
  readonly activity: string | undefined
  readonly waypoints: ReadonlyArray<DraftWaypoint>
}

/** A file, or a part of one, that says nothing of its routes. */
export const NOTHING_SAID: About = { names: [], descriptions: [], tags: [], activity: undefined, waypoints: [] }

/** One line of a file, such as a track, with what the file says of it alone. */
export interface DraftTrack extends About {
  /** The parts that were recorded apart: between two of them there is no line. None is empty. */
  readonly segments: ReadonlyArray<ReadonlyArray<Position>>
  /** The seconds from the first to the last position of each segment, where the file has times. */
  readonly seconds: number | undefined
  /** The name of the file that it is from, where there are several. */
  readonly file?: string | undefined
}

/** What a reader found, before a track was chosen. */
export interface DraftFile extends About {
  readonly tracks: ReadonlyArray<DraftTrack>
  readonly dropped: ReadonlyArray<Dropped>
}

/** One route of a file, before limits were applied. */
export interface Draft extends About {
  readonly segments: ReadonlyArray<ReadonlyArray<Position>>
  readonly seconds: number | undefined
  readonly dropped: ReadonlyArray<Dropped>
}
