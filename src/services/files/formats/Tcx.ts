import { Effect } from "effect"
import type { Position } from "../../../schema/Geometry.ts"
import type { Dropped } from "../../../schema/Import.ts"
import { MAX_WAYPOINTS } from "../../../schema/Route.ts"
import type { InvalidInput } from "../../DomainErrors.ts"
import { maneuverOf, OWN_MANEUVER } from "../draft/CourseTurns.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedIf,
  NOTHING_SAID,
  UNUSED
} from "../draft/Document.ts"
import {
  allPositions,
  coordOf,
  MAX_READ_POSITIONS,
  MAX_WORDS,
  nextGroups,
  numberOf,
  positionOf,
  takerOf
} from "../draft/Numbers.ts"
import { durationOf, isWithinSeconds } from "../draft/Times.ts"
import { beyondEdge, OWN_LONGITUDE } from "../xml/EastEdge.ts"
import { parseXml } from "../xml/Xml.ts"
import { attributeOf, childOf, childrenOf, descendantsOf, textOf, unknownChildren } from "../xml/XmlQuery.ts"
import type { XmlElement } from "../xml/XmlTree.ts"

/** `Time` is required by the schema; our own extension marks a longitude. */
const TRACKPOINT = new Set(["Time", "Position", "AltitudeMeters", "DistanceMeters", "Extensions"])
const COURSE_POINT = new Set(["Name", "Time", "Position", "PointType", "Notes", "Extensions"])

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
  "Lap",
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
  OWN_LONGITUDE,
  OWN_MANEUVER
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

/** Devices write points without a position while they search satellites, or for a sensor alone. */
const unplaced = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> => {
  const count = points.filter((point) => !isPlaced(point)).length
  return droppedIf(count, "points", "they have no position")
}

/** A name is required by the schema: in our own files `Notes` has that of the waypoint. */
const waypointOf = (point: XmlElement, position: Position, isOwn: boolean): DraftWaypoint => {
  const extensions = childOf(point, "Extensions")
  return {
    coord: coordOf(position),
    name: isOwn ? textOf(point, "Notes") : textOf(point, "Notes")?.trim() || textOf(point, "Name"),
    type: textOf(extensions, "rps:type"),
    timestamp: textOf(extensions, "rps:timestamp")
  }
}

const cueOf = (point: XmlElement) => {
  const mark = textOf(childOf(point, "Extensions"), OWN_MANEUVER)
  return mark === undefined ? undefined : maneuverOf(mark, textOf(point, "Notes"))
}

const isWaypoint = (point: XmlElement) => isPlaced(point) && cueOf(point) === undefined

const MAX_LAP_SECONDS = 60

/** Parts with gaps between them: a new lap alone is no gap. */
const partsOfOwner = (owner: XmlElement): ReadonlyArray<ReadonlyArray<XmlElement>> => {
  const laps = owner.children.filter(({ name }) => name === "Lap")
  const parts: Array<Array<XmlElement>> = []
  for (const holder of laps.some(({ children }) => children.some(isTrack)) ? laps : [owner]) {
    for (const [index, track] of descendantsOf([holder], "Track").entries()) {
      const points = childrenOf(track, "Trackpoint").filter(isPlaced)
      const before = parts.at(-1)
      const isContinued = index === 0
        && isWithinSeconds(timeOf(before?.at(-1)), timeOf(points[0]), MAX_LAP_SECONDS)
      if (before === undefined || !isContinued) parts.push(points)
      else for (const point of points) before.push(point)
    }
  }
  return parts
}

const isTrack = ({ name }: XmlElement) => name === "Track"

const timeOf = (point: XmlElement | undefined) => textOf(point, "Time")

const partsOf = (database: XmlElement) => {
  const courses = descendantsOf(childrenOf(database, "Courses"), "Course")
  const activities = descendantsOf(childrenOf(database, "Activities"), "Activity")
  const owners = courses.length > 0 ? courses : activities
  return {
    lines: owners.map((owner) => ({ owner, parts: partsOfOwner(owner) })),
    trackpoints: childrenOf(descendantsOf(owners, "Track"), "Trackpoint"),
    coursePoints: childrenOf(owners, "CoursePoint"),
    unusedActivities: courses.length > 0 ? activities : []
  }
}

type Parts = ReturnType<typeof partsOf>

const droppedOf = ({ coursePoints, trackpoints, unusedActivities }: Parts): ReadonlyArray<Dropped> => [
  ...unplaced([...trackpoints, ...coursePoints]),
  ...droppedIf(unusedActivities.length, "Activity", "the file has courses too"),
  ...unknownChildren(trackpoints, TRACKPOINT, UNUSED),
  ...unknownChildren(coursePoints, COURSE_POINT, UNUSED)
]

type NextPositions = (count: number) => ReadonlyArray<Position>

const trackOf = (
  { owner, parts }: Parts["lines"][number],
  nextPositions: NextPositions,
  nextPoints: NextPositions
): DraftTrack => {
  const own = childrenOf(owner, "Extensions").find((extensions) => childOf(extensions, "rps:name") !== undefined)
  const placed = childrenOf(owner, "CoursePoint").filter(isWaypoint)
  const points = nextPoints(placed.length)
  return {
    names: [textOf(own, "rps:name"), textOf(owner, "Name"), textOf(owner, "Id")],
    descriptions: [own === undefined ? textOf(owner, "Notes") : textOf(own, "rps:description")],
    tags: textOf(own, "rps:tags")?.split(",", MAX_WORDS) ?? [],
    activity: textOf(own, "rps:activity") ?? attributeOf(owner, "Sport"),
    waypoints: placed.flatMap((point, index) =>
      points[index] === undefined ? [] : [waypointOf(point, points[index], own !== undefined)]
    ),
    cues: childrenOf(owner, "CoursePoint").flatMap((point) => cueOf(point) ?? []),
    segments: nextGroups(nextPositions, parts.map(({ length }) => length)),
    // The times of our own courses only satisfy the schema.
    seconds: own === undefined ? durationOf(parts, timeOf) : undefined
  }
}

/** Courses of a Training Center Database, or its activities. */
export const readTcx = Effect.fnUntraced(function*(text: string): Effect.fn.Return<DraftFile, InvalidInput> {
  const parts = partsOf(yield* parseXml(text, "TrainingCenterDatabase", KNOWN))
  const positions = yield* allPositions(parts.lines.flatMap((line) => line.parts.flat()), pointOf, {
    what: "positions",
    path: "Trackpoint",
    max: MAX_READ_POSITIONS
  })
  const points = yield* allPositions(parts.coursePoints.filter(isWaypoint), pointOf, {
    what: "waypoints",
    path: "CoursePoint",
    max: MAX_WAYPOINTS
  })
  const [nextPositions, nextPoints] = [takerOf(positions), takerOf(points)]
  const file: DraftFile = {
    ...NOTHING_SAID,
    tracks: parts.lines.map((line) => trackOf(line, nextPositions, nextPoints)),
    dropped: droppedOf(parts)
  }
  return file
})
