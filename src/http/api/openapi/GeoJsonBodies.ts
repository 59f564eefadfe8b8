import { POSITION_TEXT } from "../../../schema/Geometry.ts"
const position = {
  type: "array",
  items: { type: "number" },
  minItems: 2,
  maxItems: 3,
  description: POSITION_TEXT
}

const typed = (type: string, properties: Readonly<Record<string, unknown>>) => ({
  type: "object",
  required: ["type", ...Object.keys(properties)],
  properties: { type: { type: "string", enum: [type], description: "Its type" }, ...properties }
})

/** RFC 7946: a feature for the geometry, then one for each waypoint. */
export const GEOJSON = {
  Feature: typed("Feature", {
    properties: { type: "object", description: "The other members of the route or of the waypoint; `role` says which" },
    geometry: {
      description: "`null` for a route without a line",
      oneOf: [{ $ref: "#/components/schemas/LineString" }, { $ref: "#/components/schemas/Point" }, { type: "null" }]
    }
  }),
  FeatureCollection: typed("FeatureCollection", {
    features: {
      type: "array",
      description: "The line, then the waypoints",
      items: { $ref: "#/components/schemas/Feature" }
    }
  }),
  LineString: typed("LineString", { coordinates: { type: "array", description: "The positions", items: position } }),
  Point: typed("Point", { coordinates: position })
}
