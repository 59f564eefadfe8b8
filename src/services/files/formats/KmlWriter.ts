import type { Position } from "../../../schema/Geometry.ts"
import type { WrittenRoute } from "../draft/Document.ts"
import { decimal } from "../draft/Numbers.ts"
import { isDateTime } from "../xml/DateTimes.ts"
import { XML_DECLARATION, xmlOf, type XmlParts } from "../xml/XmlWriter.ts"

const ROOT = "<kml xmlns=\"http://www.opengis.net/kml/2.2\"><Document>"

const coordinatesOf = (position: Position) => position.map(decimal).join(",")

const dataOf = (values: Readonly<Record<string, string | null | undefined>>): XmlParts => {
  const data = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [{ "@name": name, value }]
  )
  return data.length === 0 ? {} : { ExtendedData: { Data: data } }
}

const placemarkOf = ({ coord, name, timestamp, type }: WrittenRoute["waypoints"][number]): XmlParts => ({
  name: name ?? undefined,
  ...(isDateTime(timestamp ?? "") ? { TimeStamp: { when: timestamp ?? undefined } } : {}),
  ...dataOf({ role: "waypoint", type, timestamp }),
  Point: { coordinates: coordinatesOf(coord) }
})

/** A line needs two positions (KML 2.2, 10.7). */
function* lineOf({ geometry, name }: WrittenRoute): Generator<string> {
  const element = geometry.length === 1 ? "Point" : "LineString"
  yield `<Placemark>${xmlOf({ name, ...dataOf({ role: "geometry" }) })}<${element}><coordinates>`
  for (const position of geometry) yield `${coordinatesOf(position)}\n`
  yield `</coordinates></${element}></Placemark>\n`
}

export function* writeKml(route: WrittenRoute): Generator<string> {
  const { activity, description, name, tags, waypoints } = route
  yield `${XML_DECLARATION}${ROOT}\n`
  yield xmlOf({ name, description, ...dataOf({ tags: tags.length === 0 ? undefined : tags.join(", "), activity }) })
  if (route.geometry.length > 0) yield* lineOf(route)
  for (const waypoint of waypoints) yield `${xmlOf({ Placemark: placemarkOf(waypoint) })}\n`
  yield "</Document></kml>\n"
}
