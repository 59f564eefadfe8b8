import { Effect } from "effect"
import type { ValidationFailed } from "../../../schema/Errors.ts"
import { MAX_POSITIONS, type Position } from "../../../schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import type { Draft, DraftWaypoint, Dropped, ReadRoute } from "../Document.ts"
import { finish } from "../Finish.ts"
import { allPositions, coordOf, MAX_WORDS, numberOf, positionOf } from "../Numbers.ts"
import { beyondEdge, OWN_LONGITUDE } from "../xml/EastEdge.ts"
import { parseXml } from "../xml/Xml.ts"
import { attributeOf, childOf, childrenOf, descendantsOf, textOf, unknownChildren } from "../xml/XmlQuery.ts"
import type { XmlElement } from "../xml/XmlTree.ts"

const UNUSED = "a route has no place for it"

/** `Time` is in every file, since the schema wants one for each point; extensions of ours say where a longitude is. */
const TRACKPOINT = new Set(["Time", "Position", "AltitudeMeters", "DistanceMeters", "Extensions"])
const COURSE_POINT = new Set(["Name", "Time", "Position", "PointType", "Notes", "Extensions"])

/** The elements and attributes that a route is read from. */
const KNOWN = new Set([
  ...TRACKPOINT,
  ...COURSE_POINT,
  "TrainingCenterDatabase",
  "Courses",
  "Course",
  "CoursePoint",
  "Activities",
  "Activity",
  "Sport",
  "Track",
  "Trackpoint",
  "LatitudeDegrees",
  "LongitudeDegrees",
  "Id",
  "rps:name",
  "rps:description",
  "rps:tags",
  "rps:activity",
  "rps:type",
  "rps:timestamp",
  OWN_LONGITUDE
])

const pointOf = (point: XmlElement): Position | undefined => {
  const position = childOf(point, "Position")
  return positionOf(
    beyondEdge(numberOf(textOf(position, "LongitudeDegrees")), point, "Extensions"),
    numberOf(textOf(position, "LatitudeDegrees")),
    numberOf(textOf(point, "AltitudeMeters"))
  )
}

const isPlaced = (point: XmlElement) => childOf(point, "Position") !== undefined

/** Devices write a point without a position while they look for satellites, or for a sensor alone. */
const unplaced = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> => {
  const count = points.filter((point) => !isPlaced(point)).length
  return count === 0 ? [] : [{ what: "points", why: "they have no position", count }]
}

const joined = (what: string, { length }: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> =>
  length < 2 ? [] : [{ what, why: "a route has one line: they were joined in order", count: length }]

/** A course point must have a name by the schema: in a file of ours only its notes tell whether the waypoint has one. */
const waypointOf = (point: XmlElement, position: Position, isOwn: boolean): DraftWaypoint => {
  const extensions = childOf(point, "Extensions")
  return {
    coord: coordOf(position),
    name: isOwn ? textOf(point, "Notes") : textOf(point, "Notes")?.trim() || textOf(point, "Name"),
    type: textOf(extensions, "rps:type"),
    timestamp: textOf(extensions, "rps:timestamp")
  }
}

/** Courses first: a file that has them and recorded activities is a plan with a history. */
const partsOf = (database: XmlElement) => {
  const courses = descendantsOf(childrenOf(database, "Courses"), "Course")
  const activities = descendantsOf(childrenOf(database, "Activities"), "Activity")
  const owners = courses.length > 0 ? courses : activities
  const tracks = descendantsOf(owners, "Track")
  return {
    owners,
    tracks,
    trackpoints: childrenOf(tracks, "Trackpoint"),
    coursePoints: childrenOf(owners, "CoursePoint"),
    unusedActivities: courses.length > 0 ? activities : []
  }
}

type Parts = ReturnType<typeof partsOf>

const droppedOf = ({ coursePoints, owners, trackpoints, tracks, unusedActivities }: Parts): ReadonlyArray<Dropped> => [
  ...joined("bounds of courses or activities", owners),
  ...joined("bounds of tracks", tracks),
  ...unplaced([...trackpoints, ...coursePoints]),
  ...(unusedActivities.length === 0
    ? []
    : [{ what: "Activity", why: "the file has courses too", count: unusedActivities.length }]),
  ...unknownChildren(trackpoints, TRACKPOINT, UNUSED),
  ...unknownChildren(coursePoints, COURSE_POINT, UNUSED)
]

const draftOf = (parts: Parts, geometry: ReadonlyArray<Position>, points: ReadonlyArray<Position>): Draft => {
  const { owners } = parts
  const own = childrenOf(owners, "Extensions").find((extensions) => childOf(extensions, "rps:name") !== undefined)
  const placed = parts.coursePoints.filter(isPlaced)
  return {
    names: [textOf(own, "rps:name"), ...owners.flatMap((owner) => [textOf(owner, "Name"), textOf(owner, "Id")])],
    descriptions: own === undefined
      ? owners.map((owner) => textOf(owner, "Notes"))
      : [textOf(own, "rps:description")],
    tags: textOf(own, "rps:tags")?.split(",", MAX_WORDS) ?? [],
    activity: textOf(own, "rps:activity") ?? owners.map((owner) => attributeOf(owner, "Sport"))[0],
    waypoints: placed.flatMap((point, index) =>
      points[index] === undefined ? [] : [waypointOf(point, points[index], own !== undefined)]
    ),
    geometry,
    dropped: droppedOf(parts)
  }
}

/** Reads the courses of a Training Center Database, or the activities of one without courses. */
export const readTcx = Effect.fnUntraced(function*(text: string): Effect.fn.Return<ReadRoute, ValidationFailed> {
  const parts = partsOf(yield* parseXml(text, "TrainingCenterDatabase", KNOWN))
  const geometry = yield* allPositions(parts.trackpoints.filter(isPlaced), pointOf, {
    what: "positions",
    path: "Trackpoint",
    max: MAX_POSITIONS
  })
  const points = yield* allPositions(parts.coursePoints.filter(isPlaced), pointOf, {
    what: "waypoints",
    path: "CoursePoint",
    max: MAX_WAYPOINTS
  })
  return yield* finish(draftOf(parts, geometry, points))
})
