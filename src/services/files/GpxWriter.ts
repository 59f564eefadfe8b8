import type { Position } from "../../schema/Geometry.ts"
import { DEFAULT_GPX_FORM, type GpxForm } from "../../schema/Import.ts"
import { SERVICE_TITLE } from "../../schema/ServiceName.ts"
import { NO_GAPS, rangesOf } from "../geometry/Geodesy.ts"
import {
  coursePointOf,
  isShaping,
  maneuverMark,
  OWN_INSTRUCTION,
  SHAPING,
  shapingParts,
  turnOf
} from "./CoursePoints.ts"
import type { WrittenRoute } from "./Draft.ts"
import { decimal, edgeMark, isDateTime, measuresText, OWN_MEASURES, withinEdge } from "./FileValues.ts"
import { recordedTimes } from "./Positions.ts"
import { OWN_NAMESPACE, XML_DECLARATION, xmlOf, type XmlParts } from "./Xml.ts"

const ROOT_ATTRIBUTES = `<gpx version="1.1" creator="${SERVICE_TITLE}" xmlns="http://www.topografix.com/GPX/1/1" `
  + `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ${OWN_NAMESPACE} `
  + `xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">`

const dateTime = (text: string | null | undefined) => isDateTime(text ?? "") ? text ?? undefined : undefined

const writtenExtensions = (lng: number) => lng === withinEdge(lng) ? undefined : edgeMark(lng)

const metadataOf = ({ createdAt, description, name, tags }: WrittenRoute): XmlParts => ({
  name,
  desc: description,
  time: dateTime(createdAt),
  keywords: tags.length === 0 ? undefined : tags.join(", ")
})

const symbolOf = (type: string | null | undefined) => {
  const { tcx } = coursePointOf(type)
  return tcx === "Generic" ? undefined : tcx
}

const pointOfWaypoint = (
  { coord: [lng, lat], name, timestamp, type }: WrittenRoute["waypoints"][number]
): XmlParts => ({
  "@lat": decimal(lat),
  "@lon": decimal(withinEdge(lng)),
  time: dateTime(timestamp),
  name: name ?? undefined,
  sym: symbolOf(type),
  type: type ?? undefined,
  extensions: writtenExtensions(lng)
})

type Cue = NonNullable<WrittenRoute["cues"]>[number]

/** The route needs no name of its own beside a track. */
const routeOfWaypoints = ({ activity, name, waypoints }: WrittenRoute, form: GpxForm): XmlParts => ({
  ...(form === "route" ? { name, type: activity } : {}),
  rtept: waypoints.map(pointOfWaypoint)
})

const pointOfCue = (cue: Cue, [lng, lat, elevation]: Position): XmlParts => {
  const { name, tcx } = turnOf(cue)
  const hasText = cue.instruction !== ""
  return {
    "@lat": decimal(lat),
    "@lon": decimal(withinEdge(lng)),
    ele: elevation === undefined ? undefined : decimal(elevation),
    name: hasText ? cue.instruction : name,
    sym: tcx,
    type: name,
    extensions: { ...maneuverMark(cue), [OWN_INSTRUCTION]: hasText ? undefined : "", ...edgeMark(lng) }
  }
}

const trackPoint = ([lng, lat, elevation]: Position, time: string | undefined): string => {
  const ele = elevation === undefined ? "" : `<ele>${decimal(elevation)}</ele>`
  const extensions = writtenExtensions(lng)
  const elevationAndTime = time === undefined ? ele : `${ele}<time>${time}</time>`
  const inner = extensions === undefined ? elevationAndTime : elevationAndTime + xmlOf({ extensions })
  return `<trkpt lat="${decimal(lat)}" lon="${decimal(withinEdge(lng))}">${inner}</trkpt>\n`
}

function* waypointsAndCues({ cues = [], geometry, waypoints }: WrittenRoute, form: GpxForm): Generator<string> {
  for (const cue of form === "route" ? [] : cues) {
    const position = geometry[cue.begin_shape_index]
    if (position !== undefined) yield `${xmlOf({ wpt: pointOfCue(cue, position) })}\n`
  }
  if (form !== "track") return
  for (const waypoint of waypoints) if (!isShaping(waypoint)) yield `${xmlOf({ wpt: pointOfWaypoint(waypoint) })}\n`
}

/** An extension of the track has what is no `wpt`. Even an empty track is written, to be no file of points. */
function* trackOfRoute(route: WrittenRoute, form: GpxForm): Generator<string> {
  const shaping = form === "track" ? shapingParts(route.waypoints) : []
  const measures = measuresText(route)
  const extensions = shaping.length === 0 && measures === undefined
    ? undefined
    : { [SHAPING]: shaping, [OWN_MEASURES]: measures }
  yield `<trk>${xmlOf({ name: route.name, type: route.activity, extensions })}<trkseg>\n`
  const timeAt = recordedTimes(route)
  for (const { from, to } of rangesOf(route.geometry.length, route.segments ?? NO_GAPS)) {
    if (from > 0) yield "</trkseg><trkseg>\n"
    for (const [index, position] of route.geometry.slice(from, to).entries()) {
      yield trackPoint(position, timeAt(from + index))
    }
  }
  yield "</trkseg></trk>\n"
}

export function* writeGpx(route: WrittenRoute, form: GpxForm = DEFAULT_GPX_FORM): Generator<string> {
  yield `${XML_DECLARATION}${ROOT_ATTRIBUTES}\n`
  yield `${xmlOf({ metadata: metadataOf(route) })}\n`
  yield* waypointsAndCues(route, form)
  if (form !== "track" && route.waypoints.length > 0) yield `${xmlOf({ rte: routeOfWaypoints(route, form) })}\n`
  if (form !== "route") yield* trackOfRoute(route, form)
  yield "</gpx>\n"
}
