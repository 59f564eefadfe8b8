import type { Position } from "../../schema/Geometry.ts"
import type { Activity } from "../../schema/Preferences.ts"
import type { Waypoint } from "../../schema/Route.ts"

/** The formats that routes are exchanged in. */
export type FileFormat = "gpx" | "geojson" | "tcx" | "kml"

/** What a file says of a route. */
export interface RouteDocument {
  readonly name: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly activity?: Activity
  readonly waypoints: ReadonlyArray<Waypoint>
  readonly geometry: ReadonlyArray<Position>
}

/** A route to be written; `createdAt` is an ISO 8601 instant. */
export type WrittenRoute = RouteDocument & { readonly createdAt?: string }

/** One kind of thing in a file that was not taken over, and how many of it there were. */
export interface Dropped {
  readonly what: string
  readonly why: string
  readonly count: number
}

/** A file as it was understood. Both lists keep the order of the file. */
export interface ReadRoute {
  readonly document: RouteDocument
  readonly dropped: ReadonlyArray<Dropped>
}

/** A point of a file before any limit was applied to its texts. */
export interface DraftWaypoint {
  readonly coord: readonly [lng: number, lat: number]
  readonly type: string | undefined
  readonly name: string | undefined
  readonly timestamp: string | undefined
}

/** What a reader found, before limits were applied. Of several names the first that says something counts. */
export interface Draft {
  readonly names: ReadonlyArray<string | undefined>
  readonly descriptions: ReadonlyArray<string | undefined>
  readonly tags: ReadonlyArray<string>
  readonly activity: string | undefined
  readonly waypoints: ReadonlyArray<DraftWaypoint>
  readonly geometry: ReadonlyArray<Position>
  readonly dropped: ReadonlyArray<Dropped>
}
