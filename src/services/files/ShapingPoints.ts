import type { DraftWaypoint, WrittenRoute } from "./Draft.ts"
import { coordOf, decimal, numberOf, positionOf } from "./FileValues.ts"
import type { XmlParts } from "./Xml.ts"
import { attributeOf, childrenOf, textOf, type XmlElement } from "./XmlTree.ts"

/** A position that shapes the route and says nothing: devices would announce it. */
export const isShaping = ({ name, type }: { readonly name?: string | null; readonly type?: string | null }): boolean =>
  type === "routed" && (name === undefined || name === null)

/** Files that this service writes keep the shaping points beside the others, each with its index among all waypoints. */
export interface ShapingPoint {
  readonly index: number
  readonly coord: readonly [lng: number, lat: number]
  readonly timestamp: string | undefined
}

export const shapingPoints = (waypoints: WrittenRoute["waypoints"]): ReadonlyArray<ShapingPoint> =>
  waypoints.flatMap((waypoint, index) =>
    isShaping(waypoint) ? [{ index, coord: waypoint.coord, timestamp: waypoint.timestamp ?? undefined }] : []
  )

/** Puts the shaping points where they were among the waypoints. */
export const withShaping = (
  waypoints: ReadonlyArray<DraftWaypoint>,
  points: ReadonlyArray<ShapingPoint>
): ReadonlyArray<DraftWaypoint> => {
  const all = [...waypoints]
  for (const { coord, index, timestamp } of points) {
    all.splice(index, 0, { coord, name: undefined, type: "routed", timestamp })
  }
  return all
}

export const SHAPING = "rps:shaping"

const TIMESTAMP = "rps:timestamp"

export const SHAPING_MEMBERS = [SHAPING, TIMESTAMP, "index", "lat", "lon"]

export const shapingParts = (waypoints: WrittenRoute["waypoints"]): ReadonlyArray<XmlParts> =>
  shapingPoints(waypoints).map(({ coord: [lng, lat], index, timestamp }) => ({
    "@index": String(index),
    "@lat": decimal(lat),
    "@lon": decimal(lng),
    [TIMESTAMP]: timestamp
  }))

export const shapingIn = (
  extensions: XmlElement | undefined | ReadonlyArray<XmlElement>
): ReadonlyArray<ShapingPoint> =>
  childrenOf(extensions, SHAPING).flatMap((point) => {
    const [index, lng, lat] = ["index", "lon", "lat"].map((name) => numberOf(attributeOf(point, name)))
    const position = positionOf(lng, lat, undefined)
    return position === undefined || index === undefined
      ? []
      : [{ index, coord: coordOf(position), timestamp: textOf(point, TIMESTAMP) }]
  })
