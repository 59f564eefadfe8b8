import type { Position } from "../../../schema/Geometry.ts"
import { coordinatesOf, lengthOf } from "../../geometry/Geodesy.ts"
import { maneuverMark, turnOf } from "../draft/CourseTurns.ts"
import type { WrittenRoute } from "../draft/Document.ts"
import { NearestPositions } from "../draft/NearestPositions.ts"
import { decimal } from "../draft/Numbers.ts"
import { carried } from "../xml/Characters.ts"
import { isDateTime } from "../xml/DateTimes.ts"
import { edgeMark, withinEdge } from "../xml/EastEdge.ts"
import { OWN_NAMESPACE, XML_DECLARATION, xmlOf, type XmlParts } from "../xml/XmlWriter.ts"

const ROOT =
  `<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2" ${OWN_NAMESPACE}>`

/** `RestrictedToken_t` and `CoursePointName_t`; `Notes` has the whole text. */
const MAX_COURSE_NAME = 15
const MAX_POINT_NAME = 10

/** `xsd:token` has no line breaks and no repeated white space. */
const token = (text: string, max: number, fallback: string) => {
  const words = carried(text).replace(/\s+/gu, " ").trim()
  return [...words].slice(0, max).join("").trim() || fallback
}

const MINUTE = 60_000

const SECONDS_LENGTH = "00.000Z".length
const FRACTION_LENGTH = ".000Z".length

/**
 * The schema requires times: a second for each position, from the creation of the route. Dates are formatted once a
 * minute, since one costs as much as the rest of a point.
 */
const clockFrom = (createdAt: string | undefined) => {
  const start = createdAt !== undefined && isDateTime(createdAt) ? Date.parse(createdAt) : 0
  const fraction = new Date(start).toISOString().slice(-FRACTION_LENGTH)
  const current = { minute: Number.NaN, text: "" }
  return (seconds: number) => {
    const time = start + seconds * 1000
    const minute = Math.floor(time / MINUTE)
    if (minute !== current.minute) {
      current.minute = minute
      current.text = new Date(minute * MINUTE).toISOString().slice(0, -SECONDS_LENGTH)
    }
    const second = Math.floor((time - minute * MINUTE) / 1000)
    return `${current.text}${second < 10 ? "0" : ""}${second}${fraction}`
  }
}

const longitudeMark = (lng: number): string => lng === withinEdge(lng) ? "" : xmlOf({ Extensions: edgeMark(lng) })

const trackpoint = ([lng, lat, elevation]: Position, time: string): string => {
  const altitude = elevation === undefined ? "" : `<AltitudeMeters>${decimal(elevation)}</AltitudeMeters>`
  const longitude = decimal(withinEdge(lng))
  return `<Trackpoint><Time>${time}</Time><Position><LatitudeDegrees>${decimal(lat)}</LatitudeDegrees>`
    + `<LongitudeDegrees>${longitude}</LongitudeDegrees></Position>${altitude}${longitudeMark(lng)}</Trackpoint>\n`
}

const coursePointOf = (
  { coord: [lng, lat], name, timestamp, type }: WrittenRoute["waypoints"][number],
  time: string
): XmlParts => ({
  Name: token(name ?? "", MAX_POINT_NAME, "Waypoint"),
  Time: time,
  Position: { LatitudeDegrees: decimal(lat), LongitudeDegrees: decimal(withinEdge(lng)) },
  PointType: "Generic",
  Notes: name ?? undefined,
  Extensions: {
    "rps:type": type ?? undefined,
    "rps:timestamp": timestamp ?? undefined,
    ...edgeMark(lng)
  }
})

type Cue = NonNullable<WrittenRoute["cues"]>[number]

const cuePointOf = (cue: Cue, [lng, lat]: Position, time: string): XmlParts => ({
  Name: turnOf(cue).name,
  Time: time,
  Position: { LatitudeDegrees: decimal(lat), LongitudeDegrees: decimal(withinEdge(lng)) },
  PointType: turnOf(cue).tcx,
  Notes: cue.instruction === "" ? undefined : cue.instruction,
  Extensions: { ...maneuverMark(cue), ...edgeMark(lng) }
})

const notesOf = ({ description, name }: WrittenRoute) =>
  description === undefined || description === "" ? name : `${name}\n\n${description}`

/** Repeats the parts of `Notes`, where the end of the name is unknown. */
const ownOf = ({ activity, description, name, tags }: WrittenRoute): XmlParts => ({
  "rps:name": name,
  "rps:description": description,
  "rps:tags": tags.length === 0 ? undefined : tags.join(", "),
  "rps:activity": activity
})

const lapOf = ({ geometry }: WrittenRoute): XmlParts => ({
  TotalTimeSeconds: String(Math.max(0, geometry.length - 1)),
  DistanceMeters: decimal(lengthOf(coordinatesOf(geometry))),
  Intensity: "Active"
})

export function* writeTcx(route: WrittenRoute): Generator<string> {
  const { createdAt, geometry, name, waypoints } = route
  const timeAt = clockFrom(createdAt)
  yield `${XML_DECLARATION}${ROOT}<Courses><Course>\n`
  yield `${xmlOf({ Name: token(name, MAX_COURSE_NAME, "Route"), Lap: lapOf(route) })}\n`
  if (geometry.length > 0) yield "<Track>\n"
  for (const [index, position] of geometry.entries()) yield trackpoint(position, timeAt(index))
  if (geometry.length > 0) yield "</Track>\n"
  yield xmlOf({ Notes: notesOf(route) })
  // Devices locate a course point by the time of a track point.
  const nearest = new NearestPositions(geometry, waypoints.length)
  for (const waypoint of waypoints) {
    const time = timeAt(nearest.indexOf(waypoint.coord))
    yield `${xmlOf({ CoursePoint: coursePointOf(waypoint, time) })}\n`
  }
  for (const cue of route.cues ?? []) {
    const position = geometry[cue.begin_shape_index]
    if (position === undefined) continue
    yield `${xmlOf({ CoursePoint: cuePointOf(cue, position, timeAt(cue.begin_shape_index)) })}\n`
  }
  yield `${xmlOf({ Extensions: ownOf(route) })}</Course></Courses></TrainingCenterDatabase>\n`
}
