import { Effect } from "effect"
import type { Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"
import type { InvalidInput } from "../DomainErrors.ts"
import { coordinatesOf, metresAlong, NO_GAPS, rangesOf } from "../geometry/Geodesy.ts"
import {
  coursePointsOf,
  maneuverOf,
  OWN_MANEUVER,
  pointTypeOf,
  SHAPING,
  SHAPING_MEMBERS,
  shapingIn,
  shapingParts,
  turnTypeOf,
  withShaping
} from "./CoursePoints.ts"
import {
  type DraftFile,
  type DraftTrack,
  type DraftWaypoint,
  droppedEmpty,
  droppedIf,
  NOTHING_SAID,
  UNUSED,
  type WrittenRoute
} from "./Draft.ts"
import {
  beyondEdge,
  coordOf,
  decimal,
  edgeMark,
  instantText,
  isWithinSeconds,
  MAX_WORDS,
  measuresIn,
  measuresText,
  NOT_RECORDED,
  numberOf,
  OWN_LONGITUDE,
  OWN_MEASURES,
  positionOf,
  type Recording,
  recordingOf,
  sumOf,
  withinEdge
} from "./FileValues.ts"
import { droppedElevations, type Placed, placedPoints, placedTracks, segmentsOf, timesAlong } from "./Positions.ts"
import { carried, OWN_NAMESPACE, parseXml, type TextPieces, XML_DECLARATION, xmlOf, type XmlParts } from "./Xml.ts"
import {
  attributeOf,
  childOf,
  childrenOf,
  descendantsOf,
  leafOf,
  NOTHING,
  type PointReader,
  textOf,
  unknownChildren,
  type XmlElement
} from "./XmlTree.ts"

/** The schema requires `Time`. */
const TRACKPOINT = new Set(["Time", "Position", "AltitudeMeters", "DistanceMeters"])
const COURSE_POINT = new Set(["Name", "Time", "Position", "PointType", "Notes", "Extensions"])

const LAP_SECONDS = "TotalTimeSeconds"

/** Laps have measures of their own, which are those of the line. The schema requires `Intensity`. */
const LAP = new Set([
  "Track",
  LAP_SECONDS,
  "DistanceMeters",
  "BeginPosition",
  "BeginAltitudeMeters",
  "EndPosition",
  "EndAltitudeMeters",
  "Intensity",
  "TriggerMethod"
])
const OWNER = new Set(["Id", "Name", "Lap", "Track", "Notes", "CoursePoint", "Extensions"])

const OWN_RECORDING = "rps:recordedAt"

const OWN_EXTENSIONS = new Set([
  "rps:name",
  "rps:description",
  "rps:tags",
  "rps:activity",
  OWN_RECORDING,
  "rps:type",
  "rps:timestamp",
  SHAPING,
  OWN_LONGITUDE,
  OWN_MANEUVER,
  OWN_MEASURES
])

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
  LAP_SECONDS,
  "Trackpoint",
  "LatitudeDegrees",
  "LongitudeDegrees",
  "Id",
  ...OWN_EXTENSIONS,
  ...SHAPING_MEMBERS
])

const ALTITUDE = "AltitudeMeters"

const pointOf = (point: XmlElement): Position | undefined => {
  const position = childOf(point, "Position")
  return positionOf(
    beyondEdge(numberOf(textOf(position, "LongitudeDegrees")), point, "Extensions"),
    numberOf(textOf(position, "LatitudeDegrees")),
    numberOf(textOf(point, ALTITUDE))
  )
}

const READ = new Set(["Position", "DistanceMeters"])

const EXTENSIONS = leafOf("Extensions")

/** An extension of the service marks a longitude. */
const isForeign = ({ children }: XmlElement) => children.some(({ name }) => name !== OWN_LONGITUDE)

/** Extensions of others are only counted: all points share one. */
const keptOf = (member: XmlElement): ReadonlyArray<XmlElement> => {
  if (member.name === EXTENSIONS.name) return isForeign(member) ? [EXTENSIONS] : []
  return READ.has(member.name) ? [] : [member]
}

/** Removes the members that are read, but not an altitude that is no number: a long recording has many points. */
const POINTS: PointReader = {
  names: new Set(["Trackpoint"]),
  read: (point) => {
    const position = pointOf(point)
    if (position === undefined) return point
    const children = point.children.flatMap(keptOf).filter(({ name }) => name !== ALTITUDE || position.length === 2)
    return { name: point.name, attributes: NOTHING, children, text: "", position, time: undefined }
  }
}

const positionRead = (point: XmlElement) => point.position ?? pointOf(point)

const isPlaced = (point: XmlElement) => point.position !== undefined || childOf(point, "Position") !== undefined

/** Devices write points without a position while they search satellites, or for a sensor alone. */
const unplaced = (points: ReadonlyArray<XmlElement>): ReadonlyArray<Dropped> => {
  const count = points.filter((point) => !isPlaced(point)).length
  return droppedIf(count, "points", "they have no position")
}

/** The schema requires a name; in our own files `Notes` has the waypoint's. */
const waypointOf = (point: XmlElement, position: Position, isOwn: boolean): DraftWaypoint => {
  const extensions = childOf(point, "Extensions")
  return {
    coord: coordOf(position),
    name: isOwn ? textOf(point, "Notes") : textOf(point, "Notes")?.trim() || textOf(point, "Name"),
    type: textOf(extensions, "rps:type") ?? (isOwn ? undefined : pointTypeOf(textOf(point, "PointType"))),
    timestamp: textOf(extensions, "rps:timestamp"),
    turn: isOwn ? undefined : turnTypeOf(textOf(point, "PointType"))
  }
}

const cueOf = (point: XmlElement) => {
  const mark = textOf(childOf(point, "Extensions"), OWN_MANEUVER)
  return mark === undefined ? undefined : maneuverOf(mark, textOf(point, "Notes"))
}

const isWaypoint = (point: XmlElement) => isPlaced(point) && cueOf(point) === undefined

const MAX_LAP_SECONDS = 60

/** Splits a track at its gaps; a new lap alone is no gap. */
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

const hasPoints = (owner: XmlElement) => descendantsOf([owner], "Trackpoint").some(isPlaced)

const partsOf = (database: XmlElement) => {
  const courses = descendantsOf(childrenOf(database, "Courses"), "Course")
  const activities = descendantsOf(childrenOf(database, "Activities"), "Activity")
  const hasCourse = courses.some(hasPoints) || !activities.some(hasPoints)
  const owners = courses.length > 0 && hasCourse ? courses : activities
  return {
    lines: owners.map((owner) => ({ owner, parts: partsOfOwner(owner) })),
    owners,
    trackpoints: childrenOf(descendantsOf(owners, "Track"), "Trackpoint"),
    coursePoints: childrenOf(owners, "CoursePoint"),
    empty: owners === courses ? [] : courses,
    unusedActivities: owners === courses ? activities : [],
    nextSports: descendantsOf(childrenOf(database, "Activities"), "NextSport")
  }
}

type Parts = ReturnType<typeof partsOf>

const droppedOf = (
  { coursePoints, empty, nextSports, owners, trackpoints, unusedActivities }: Parts
): ReadonlyArray<Dropped> => [
  ...empty.map((course) => droppedEmpty("track", [textOf(course, "Name")])),
  ...unplaced([...trackpoints, ...coursePoints]),
  ...droppedIf(unusedActivities.length, "Activity", "the file has courses too"),
  ...unknownChildren(nextSports, new Set(["Activity"]), UNUSED),
  ...unknownChildren(owners, OWNER, UNUSED),
  ...unknownChildren(childrenOf(owners, "Extensions"), OWN_EXTENSIONS, UNUSED),
  ...unknownChildren(childrenOf(owners, "Lap"), LAP, UNUSED),
  ...unknownChildren(trackpoints, TRACKPOINT, UNUSED),
  ...unknownChildren(coursePoints, COURSE_POINT, UNUSED),
  ...unknownChildren(childrenOf(coursePoints, "Extensions"), OWN_EXTENSIONS, UNUSED)
]

const trackOf = (
  { owner, parts }: Parts["lines"][number],
  placed: ReadonlyArray<Placed<XmlElement>>,
  points: ReadonlyMap<XmlElement, Position>
): DraftTrack => {
  const own = childrenOf(owner, "Extensions").find((extensions) => childOf(extensions, "rps:name") !== undefined)
  const coursePoints = childrenOf(owner, "CoursePoint")
  // The schema has an instant here: it is no name.
  const id = textOf(owner, "Id")
  return {
    names: [textOf(own, "rps:name"), textOf(owner, "Name"), instantText(id) === undefined ? id : undefined],
    descriptions: [own === undefined ? textOf(owner, "Notes") : textOf(own, "rps:description")],
    tags: textOf(own, "rps:tags")?.split(",", MAX_WORDS) ?? [],
    activity: textOf(own, "rps:activity") ?? attributeOf(owner, "Sport"),
    waypoints: withShaping(
      coursePoints.flatMap((point) => {
        const position = points.get(point)
        return position === undefined ? [] : [waypointOf(point, position, own !== undefined)]
      }),
      shapingIn(own)
    ),
    cues: coursePoints.flatMap((point) => cueOf(point) ?? []),
    measures: measuresIn(textOf(own, OWN_MEASURES)),
    segments: segmentsOf(placed),
    ...recordingOfOwner(owner, parts, own)
  }
}

/**
 * The times of our own courses only satisfy the schema, those of others are of a virtual partner: a lap has the planned
 * time.
 */
const recordingOfOwner = (
  owner: XmlElement,
  parts: Parts["lines"][number]["parts"],
  own: XmlElement | undefined
): Recording => {
  if (own !== undefined) return { ...NOT_RECORDED, recordedAt: instantText(textOf(own, OWN_RECORDING)) }
  const recording = recordingOf(parts, timeOf)
  if (owner.name === "Activity") return recording
  const planned = sumOf(childrenOf(owner, "Lap").map((lap) => numberOf(textOf(lap, LAP_SECONDS)))) ?? 0
  return { ...NOT_RECORDED, seconds: planned > 0 ? planned : recording.seconds }
}

export const readTcx = Effect.fnUntraced(function*(pieces: TextPieces): Effect.fn.Return<DraftFile, InvalidInput> {
  const parts = partsOf(yield* parseXml(pieces, ["TrainingCenterDatabase"], KNOWN, POINTS))
  const { lines } = parts
  const { dropped, tracks } = yield* placedTracks(lines.map((line) => line.parts), positionRead, "Trackpoint")
  const placed = yield* placedPoints(parts.coursePoints.filter(isWaypoint), pointOf, "CoursePoint", tracks)
  const points = new Map(placed.points)
  const file: DraftFile = {
    ...NOTHING_SAID,
    tracks: lines.map((line, index) => trackOf(line, tracks[index] ?? [], points)),
    dropped: [
      ...droppedOf(parts),
      ...droppedElevations(tracks, (point) => textOf(point, ALTITUDE)),
      ...dropped,
      ...placed.dropped
    ]
  }
  return file
})

const ROOT =
  `<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2" ${OWN_NAMESPACE}>`

/** `RestrictedToken_t` and `CoursePointName_t` have these limits; `Notes` has the whole text. */
const MAX_COURSE_NAME = 15
const MAX_POINT_NAME = 10

/** `xsd:token` has no line breaks and no repeated white space. */
const token = (text: string, max: number, fallback: string) => {
  const words = carried(text).replace(/\s+/gu, " ").trim()
  return [...words].slice(0, max).join("").trim() || fallback
}

const longitudeMark = (lng: number): string => lng === withinEdge(lng) ? "" : xmlOf({ Extensions: edgeMark(lng) })

const trackpoint = ([lng, lat, elevation]: Position, time: string): string => {
  const altitude = elevation === undefined ? "" : `<AltitudeMeters>${decimal(elevation)}</AltitudeMeters>`
  const longitude = decimal(withinEdge(lng))
  return `<Trackpoint><Time>${time}</Time><Position><LatitudeDegrees>${decimal(lat)}</LatitudeDegrees>`
    + `<LongitudeDegrees>${longitude}</LongitudeDegrees></Position>${altitude}${longitudeMark(lng)}</Trackpoint>\n`
}

const notesOf = ({ description, name }: WrittenRoute) =>
  description === undefined || description === "" ? name : `${name}\n\n${description}`

/** Repeats the parts of `Notes`, where the end of the name is unknown. */
const ownOf = (route: WrittenRoute, metres: Float64Array): XmlParts => {
  const { activity, description, name, recordedAt, tags, waypoints } = route
  return {
    "rps:name": name,
    "rps:description": description,
    "rps:tags": tags.length === 0 ? undefined : tags.join(", "),
    "rps:activity": activity,
    [OWN_RECORDING]: recordedAt,
    [OWN_MEASURES]: measuresText(route, metres),
    [SHAPING]: shapingParts(waypoints)
  }
}

export function* writeTcx(route: WrittenRoute): Generator<string> {
  const { geometry, name, segments = NO_GAPS } = route
  const metres = metresAlong(coordinatesOf(geometry), segments)
  const timeAt = timesAlong(route, metres)
  const lap: XmlParts = {
    [LAP_SECONDS]: decimal(route.duration ?? Math.max(0, geometry.length - 1)),
    DistanceMeters: decimal(metres.at(-1) ?? 0),
    Intensity: "Active"
  }
  yield `${XML_DECLARATION}${ROOT}<Courses><Course>\n`
  yield `${xmlOf({ Name: token(name, MAX_COURSE_NAME, "Route"), Lap: lap })}\n`
  for (const { from, to } of rangesOf(geometry.length, segments)) {
    yield "<Track>\n"
    for (const [index, position] of geometry.slice(from, to).entries()) yield trackpoint(position, timeAt(from + index))
    yield "</Track>\n"
  }
  yield xmlOf({ Notes: notesOf(route) })
  // Devices locate a course point by the time of a track point.
  for (const { point: { at, coord: [lng, lat], marks, name, tcx, text } } of coursePointsOf(route)) {
    const parts: XmlParts = {
      Name: token(name, MAX_POINT_NAME, "Waypoint"),
      Time: timeAt(at),
      Position: { LatitudeDegrees: decimal(lat), LongitudeDegrees: decimal(withinEdge(lng)) },
      PointType: tcx,
      Notes: text,
      Extensions: { ...marks, ...edgeMark(lng) }
    }
    yield `${xmlOf({ CoursePoint: parts })}\n`
  }
  yield `${xmlOf({ Extensions: ownOf(route, metres) })}</Course></Courses></TrainingCenterDatabase>\n`
}
