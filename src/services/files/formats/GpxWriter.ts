import type { Position } from "../../../schema/Geometry.ts"
import { SERVICE_TITLE } from "../../../schema/ServiceName.ts"
import { maneuverMark, turnOf } from "../draft/CourseTurns.ts"
import type { WrittenRoute } from "../draft/Document.ts"
import { decimal } from "../draft/Numbers.ts"
import { isDateTime } from "../xml/DateTimes.ts"
import { edgeMark, withinEdge } from "../xml/EastEdge.ts"
import { OWN_NAMESPACE, XML_DECLARATION, xmlOf, type XmlParts } from "../xml/XmlWriter.ts"

const ROOT = `<gpx version="1.1" creator="${SERVICE_TITLE}" xmlns="http://www.topografix.com/GPX/1/1" `
  + `xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ${OWN_NAMESPACE} `
  + `xsi:schemaLocation="http://www.topografix.com/GPX/1/1 http://www.topografix.com/GPX/1/1/gpx.xsd">`

const dateTime = (text: string | null | undefined) => isDateTime(text ?? "") ? text ?? undefined : undefined

const extensionsOf = (lng: number) => lng === withinEdge(lng) ? undefined : edgeMark(lng)

const metadataOf = ({ createdAt, description, name, tags }: WrittenRoute): XmlParts => ({
  name,
  desc: description,
  time: dateTime(createdAt),
  keywords: tags.length === 0 ? undefined : tags.join(", ")
})

const routePointOf = ({ coord: [lng, lat], name, timestamp, type }: WrittenRoute["waypoints"][number]): XmlParts => ({
  "@lat": decimal(lat),
  "@lon": decimal(withinEdge(lng)),
  time: dateTime(timestamp),
  name: name ?? undefined,
  type: type ?? undefined,
  extensions: extensionsOf(lng)
})

type Cue = NonNullable<WrittenRoute["cues"]>[number]

const cuePointOf = (cue: Cue, [lng, lat, elevation]: Position): XmlParts => {
  const { name, tcx } = turnOf(cue)
  return {
    "@lat": decimal(lat),
    "@lon": decimal(withinEdge(lng)),
    ele: elevation === undefined ? undefined : decimal(elevation),
    name: cue.instruction === "" ? name : cue.instruction,
    sym: tcx,
    type: name,
    extensions: { ...maneuverMark(cue), ...edgeMark(lng) }
  }
}

const trackPoint = ([lng, lat, elevation]: Position): string => {
  const ele = elevation === undefined ? "" : `<ele>${decimal(elevation)}</ele>`
  const extensions = extensionsOf(lng)
  const inner = extensions === undefined ? ele : ele + xmlOf({ extensions })
  return `<trkpt lat="${decimal(lat)}" lon="${decimal(withinEdge(lng))}">${inner}</trkpt>\n`
}

/** Writes a `trk` even if it is empty: otherwise a reader takes the `rte` of the waypoints for the polyline. */
export function* writeGpx(route: WrittenRoute): Generator<string> {
  yield `${XML_DECLARATION}${ROOT}\n`
  yield `${xmlOf({ metadata: metadataOf(route) })}\n`
  for (const cue of route.cues ?? []) {
    const position = route.geometry[cue.begin_shape_index]
    if (position !== undefined) yield `${xmlOf({ wpt: cuePointOf(cue, position) })}\n`
  }
  if (route.waypoints.length > 0) yield `${xmlOf({ rte: { rtept: route.waypoints.map(routePointOf) } })}\n`
  yield `<trk>${xmlOf({ name: route.name, type: route.activity })}<trkseg>\n`
  for (const position of route.geometry) yield trackPoint(position)
  yield "</trkseg></trk>\n</gpx>\n"
}
