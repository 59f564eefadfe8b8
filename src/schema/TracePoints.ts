import { Option, Result, Schema, SchemaGetter, type SchemaIssue, SchemaParser } from "effect"
import { isLatitude, isLongitude, Latitude, Longitude } from "./Geometry.ts"
import { MAX_ISSUES } from "./Issues.ts"
import { Seconds } from "./Measures.ts"
import { optionalMember } from "./Optional.ts"

export const MAX_TRACE = 50_000
export const MIN_TRACE = 2

const TracePoint = Schema.Struct({
  lat: Latitude,
  lon: Longitude,
  time: optionalMember(Seconds)
})
export type TracePoint = typeof TracePoint.Type
type GivenPoint = typeof TracePoint.Encoded

/** Documents the points and reports their issues. The fast check below decides what is valid. */
const Declared = Schema.NullOr(
  Schema.Array(TracePoint).check(Schema.isMinLength(MIN_TRACE), Schema.isMaxLength(MAX_TRACE))
    .annotate({ description: "The points, in order" })
)

const decodePoint = SchemaParser.decodeUnknownResult(TracePoint, { errors: "all" })
const decodeDeclared = SchemaParser.decodeUnknownResult(Declared)

const isTime = (value: unknown) => value === null || Number.isFinite(value)

const isGivenPoint = (value: unknown): value is GivenPoint =>
  typeof value === "object" && value !== null
  && "lat" in value && isLatitude(value.lat)
  && "lon" in value && isLongitude(value.lon)
  && (!("time" in value) || isTime(value.time))

const issueOf = (result: Result.Result<unknown, SchemaIssue.Issue>) => Option.getOrUndefined(Result.getFailure(result))

const invalidPoints = (points: ReadonlyArray<unknown>) => {
  const broken: Array<Schema.FilterIssue> = []
  for (const [index, point] of points.entries()) {
    if (broken.length === MAX_ISSUES) break
    const issue = isGivenPoint(point) ? undefined : issueOf(decodePoint(point))
    if (issue !== undefined) broken.push({ path: [index], issue })
  }
  return broken
}

const isLengthAllowed = ({ length }: ReadonlyArray<unknown>) => length >= MIN_TRACE && length <= MAX_TRACE

const pointsFilter = Schema.makeFilter(
  (value: unknown) => {
    if (Array.isArray(value)) {
      if (!value.every(isGivenPoint)) return invalidPoints(value)
      if (isLengthAllowed(value)) return undefined
    }
    return issueOf(decodeDeclared(value))
  },
  { toJsonSchema: () => Schema.toJsonSchemaDocument(Declared).schema }
).abort()

const GivenPoints = Schema.Any.check(pointsFilter).pipe(
  Schema.refine((value): value is ReadonlyArray<GivenPoint> | null => value === null || Array.isArray(value))
)

const Points = Schema.Any.pipe(Schema.refine((value): value is ReadonlyArray<TracePoint> => Array.isArray(value)))

const toPoint = ({ lat, lon, time }: GivenPoint): TracePoint =>
  time === undefined || time === null ? { lat, lon } : { lat, lon, time }

const toPoints = (given: Option.Option<ReadonlyArray<GivenPoint> | null>): Option.Option<ReadonlyArray<TracePoint>> =>
  Option.map(Option.filter(given, (points) => points !== null), (points) => points.map(toPoint))

/**
 * Reports a limited number of invalid points. One pass over the array: the generic decoder takes forty times as long (138 ms
 * instead of 3.5 for 50,000 points) and blocks every other request.
 */
export const TracePoints = Schema.optionalKey(GivenPoints).pipe(
  Schema.decodeTo(Schema.optionalKey(Points), {
    decode: SchemaGetter.transformOptional(toPoints),
    encode: SchemaGetter.passthroughSubtype()
  })
)
