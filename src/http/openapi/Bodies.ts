import { Record as Rec, Schema } from "effect"
import type { OpenApi } from "effect/http-api"
import { ErrorDetails } from "../../schema/ErrorDetails.ts"
import * as Errors from "../../schema/Errors.ts"
import { POSITION_TEXT } from "../../schema/Geometry.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { TracePoint } from "../../schema/Routing.ts"
import { portableSchemas } from "../../upstream/PortableSchemas.ts"
import { FILE_TEXTS } from "../api/FilesApi.ts"
import { enumerations, withEnumerations } from "./Enumerations.ts"

const details = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736" }

const impact = {
  action: "route.delete",
  resource: "route",
  id: 12,
  summary: "\"Around Vaduz\" will be deleted for everyone."
}

const errors = (): ReadonlyArray<Errors.ServiceError> => [
  Errors.ValidationFailed.at("body", "name", "Required, but missing"),
  new Errors.Unauthorized({
    message: "Sign in first, or send Authorization: Bearer and a token",
    details: { reason: "not_signed_in" }
  }),
  new Errors.Forbidden({
    message: "Insufficient scope: expected a token with scope \"write\"",
    details: { reason: "insufficient_scope" }
  }),
  new Errors.NotFound({ message: "No such resource" }),
  new Errors.MethodNotAllowed({
    message: "Expected one of the methods GET, HEAD",
    details: { allowed: ["GET", "HEAD"] }
  }),
  new Errors.RequestTimeout({ message: "The body did not arrive in time" }),
  new Errors.Conflict({ message: "This handle is taken", details: { reason: "handle_taken" } }),
  new Errors.Gone({
    message: "The cursor is expired: start again without one",
    details: { reason: "cursor_expired" }
  }),
  new Errors.PayloadTooLarge({ message: "The body may have at most 65536 bytes", details: { limitBytes: 65_536 } }),
  new Errors.UnsupportedMediaType({ message: `Content-Type: expected ${MEDIA_TYPES.json}, in UTF-8` }),
  new Errors.ExpectationFailed({ message: "Expect: only \"100-continue\" is implemented" }),
  new Errors.PreconditionRequired({
    message: "Send X-Service-Confirm: true to confirm",
    details: { impact }
  }),
  new Errors.RateLimited({
    message: "At most 60 requests a minute: try again in 42 s",
    details: { reason: "rate_limited", limit: 60, windowSeconds: 60, retryAfterSeconds: 42 }
  }),
  new Errors.HeadersTooLarge({
    message: "The request line and headers may have at most 16384 bytes",
    details: { limitBytes: 16_384 }
  }),
  new Errors.Internal({ message: "Internal error", details }),
  new Errors.NotImplemented({ message: "Transfer-Encoding: only \"chunked\" is implemented", details }),
  new Errors.BadGateway({ message: "The routing engine sent an unusable response", details }),
  new Errors.Unavailable({ message: "The database is not reachable", details }),
  new Errors.GatewayTimeout({ message: "The routing engine did not respond in time", details })
]

const bodyOf = ({ code, details, message, statusCode }: Errors.ServiceError) => ({
  statusCode,
  code,
  message,
  ...(details === undefined ? {} : { details })
})

/** The keys are names of classes. A function makes the examples, so that a start does not wait for them. */
export const errorExamples = (): Readonly<Record<string, ReturnType<typeof bodyOf>>> =>
  Object.fromEntries(errors().map((error) => [error._tag, bodyOf(error)]))

const referring = (schemas: object): Readonly<Record<string, unknown>> =>
  JSON.parse(
    JSON.stringify(schemas),
    (key, value) => key === "$ref" ? String(value).replace("#/$defs/", "#/components/schemas/") : value
  )

const errorSchema = (examples: ReturnType<typeof errorExamples>) => ({
  type: "object",
  description: "The one shape of every error.",
  required: ["statusCode", "code", "message"],
  properties: {
    statusCode: { type: "integer", minimum: 400, maximum: 599, description: "The status of the response" },
    code: {
      type: "string",
      enum: [...new Set(Object.values(examples).map(({ code }) => code))],
      description: "A stable word for a program"
    },
    message: { type: "string", description: "For people" },
    details: Schema.toJsonSchemaDocument(ErrorDetails).schema
  }
})

const position = {
  type: "array",
  items: { type: "number" },
  minItems: 2,
  maxItems: 3,
  description: POSITION_TEXT
}

const typed = (
  type: string,
  description: string,
  properties: Readonly<Record<string, unknown>>,
  example: unknown
) => ({
  type: "object",
  description,
  examples: [example],
  required: ["type", ...Object.keys(properties)],
  properties: { type: { type: "string", enum: [type], description: "Its type" }, ...properties }
})

const line = {
  type: "Feature",
  properties: { role: "geometry" },
  geometry: { type: "LineString", coordinates: [[9.5209, 47.1415, 455], [9.5254, 47.144, 461], [9.53, 47.1501, 470]] }
}

const start = {
  type: "Feature",
  properties: { role: "waypoint", name: "Start" },
  geometry: { type: "Point", coordinates: [9.5209, 47.1415] }
}

/** The first feature is the geometry; each waypoint has one after it (RFC 7946). */
const GEOJSON = {
  Feature: typed("Feature", "The line of a route, or a waypoint.", {
    properties: { type: "object", description: "The other members of the route or of the waypoint; `role` says which" },
    geometry: {
      description: "`null` for a route without a line",
      oneOf: [{ $ref: "#/components/schemas/LineString" }, { $ref: "#/components/schemas/Point" }, { type: "null" }]
    }
  }, line),
  FeatureCollection: typed("FeatureCollection", "A route as GeoJSON (RFC 7946).", {
    features: {
      type: "array",
      description: "The line, then the waypoints",
      items: { $ref: "#/components/schemas/Feature" }
    }
  }, { type: "FeatureCollection", features: [line, start] }),
  LineString: typed("LineString", "A line of two positions or more.", {
    coordinates: { type: "array", description: "The positions", items: position }
  }, line.geometry),
  Point: typed("Point", "A position.", { coordinates: position }, start.geometry)
}

export const describeBodies = (schemas: OpenApi.OpenAPIComponents["schemas"]) => {
  const errors = errorExamples()
  const bodies = Object.entries(schemas).filter(([name]) => !(name.replace(/Encoded$/, "") in errors))
  // The filter of a trace documents its points by a schema of its own.
  const { TracePoint: tracePoint } = Schema.toJsonSchemaDocument(TracePoint).definitions
  const all = { ErrorBody: errorSchema(errors), ...GEOJSON, ...Object.fromEntries(bodies), TracePoint: tracePoint }
  return { ...Rec.map(portableSchemas(referring(all), "op"), withEnumerations), ...enumerations() }
}

const TEXTS: Readonly<Record<string, string>> = {
  ...FILE_TEXTS,
  [MEDIA_TYPES.metrics]: "http_server_requests_total{method=\"GET\",route=\"/health\",status=\"2xx\"} 1",
  [MEDIA_TYPES.svg]: "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><path d=\"M1 8L8 1\"/></svg>"
}

/** Short files are in Base64: generators fetch what `externalValue` names, also from a `data:` address. */
const FILES: Readonly<Record<string, string>> = {
  [MEDIA_TYPES.fit]:
    "DiDEUswAAAAuRklUMQpAAAAAAAUAAQABAoQCAoQEBIYIEAcABv8AAAAAbbhDcnBzIHdheXBvaW50cyAwAEAAAB8AAgQBAAUGBwAA"
    + "VmFkdXoAQAAAEwAH/QSGAgSGAwSFBASFBQSFBgSFCQSGAAFtuEMAbbhDItmFIRk6xQbsaYchMeLGBjrMAQBAAAAVAAP9BIYAAQAB"
    + "AQAAAG24QwAAQQAAFAAE/QSGAASFAQSFBQSGAQBtuEMi2YUhGTrFBgAAAAABAW24Q+xphyEx4sYGOswBAAABbbhDAAme4g==",
  [MEDIA_TYPES.gzip]:
    "H4sIAAAAAAACA2WOQQrCMBBFrxLmADMdbZBK0223Lt0WqbGYNiEZTI6vDYgLN/9tHo/f21DUa45p8ZsBRgZVVrclAw+RcCbKOaP4"
    + "4G2c7kvBm19pvFyJiWHoJT7rpNlWBlFuEgPtCbllDcrt1Q71oemA/hTd8E857gJ9Y1TT9Hk3vAGlp0K1owAAAA==",
  [MEDIA_TYPES.kmz]:
    "UEsDBBQAAAAIAAAAIVzxwxoagQAAAKoAAAAHAAAAZG9jLmttbE2OQQrDIBRErxKyLv5oIyXlxxN0USh0L4mkEv0GtVh6+qZZuZsH"
    + "j5nB1bvm4x2lsX3lvF0BSiksbIYWmxiZDLsBgolW4d3pyXgdV4WkvVFPPb+/CEfGmyXzyNHSonAKIc6WdDZJDUyKbjj1F8Z7Lpsd"
    + "zwfIjiPUIkJdAdXY/4L6AVBLAQIUAxQAAAAIAAAAIVzxwxoagQAAAKoAAAAHAAAAAAAAAAAAAACAAQAAAABkb2Mua21sUEsFBgAA"
    + "AAABAAEANQAAAKYAAAAAAA==",
  [MEDIA_TYPES.png]: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==",
  [MEDIA_TYPES.zip]:
    "UEsDBBQAAAAIAAAAIVylp0K1eQAAAKMAAAAJAAAAdmFkdXouZ3B4ZY5BCsIwEEWvEuYAMx1tkErTbbcu3RapsZg2IRlMjq8NiAs3"
    + "/20ej9/bUNRrjmnxmwFGBlVWtyUDD5FwJso5o/jgbZzuS8GbX2m8XImJYeglPuuk2VYGUW4SA+0JuWUNyu3VDvWh6YD+FN3wTznu"
    + "An1jVNP0eTe8AVBLAQIUAxQAAAAIAAAAIVylp0K1eQAAAKMAAAAJAAAAAAAAAAAAAACAAQAAAAB2YWR1ei5ncHhQSwUGAAAAAAEA"
    + "AQA3AAAAoAAAAAAA"
}

export const fileExampleOf = (type: string) => {
  const [{ [type]: example }, { [type]: file }] = [TEXTS, FILES]
  if (example !== undefined) return { example }
  return file === undefined
    ? {}
    : { examples: { file: { summary: "A short file, in Base64", value: file } } }
}
