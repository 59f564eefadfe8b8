import { Iterable, Schema } from "effect"

/** A position has longitude and latitude in degrees (WGS 84), then perhaps an elevation in metres. */
export type Position = readonly [lng: number, lat: number] | readonly [lng: number, lat: number, elevation: number]

export const MAX_POSITIONS = 100_000

const MAX_REPORTED = 20

const isWithin = (value: unknown, limit: number): value is number =>
  typeof value === "number" && value >= -limit && value <= limit

export const MAX_LONGITUDE = 180
const MAX_LATITUDE = 90

export const DEGREES = {
  longitude: `-${MAX_LONGITUDE} to ${MAX_LONGITUDE}`,
  latitude: `-${MAX_LATITUDE} to ${MAX_LATITUDE}`
}

export const LONGITUDE = "The longitude in degrees (WGS 84)"
export const LATITUDE = "The latitude in degrees (WGS 84)"

export const isLongitude = (value: unknown): value is number => isWithin(value, MAX_LONGITUDE)
export const isLatitude = (value: unknown): value is number => isWithin(value, MAX_LATITUDE)

const isPosition = (value: unknown): value is Position =>
  Array.isArray(value)
  && (value.length === 2 || (value.length === 3 && Number.isFinite(value[2])))
  && isLongitude(value[0])
  && isLatitude(value[1])

const positionExpected =
  `Expected [lng, lat] or [lng, lat, elevation], ${DEGREES.longitude} and ${DEGREES.latitude} degrees, longitude first`

const invalidPositions = (positions: ReadonlyArray<unknown>) => {
  const invalid = Iterable.flatMap(
    positions,
    (position, index) => isPosition(position) ? [] : [{ path: [index], issue: positionExpected }]
  )
  return [...Iterable.take(invalid, MAX_REPORTED)]
}

export const POSITION_TEXT = "[lng, lat] or [lng, lat, elevation]: degrees (WGS 84), the elevation in metres"

/** The schema is no tuple, which would generate clients without an elevation. */
const documentedPosition = {
  type: "array",
  items: { type: "number" },
  minItems: 2,
  maxItems: 3,
  if: { type: "null" },
  else: {
    prefixItems: [
      { minimum: -MAX_LONGITUDE, maximum: MAX_LONGITUDE },
      { minimum: -MAX_LATITUDE, maximum: MAX_LATITUDE }
    ]
  },
  description: POSITION_TEXT
}

const positionsFilter = Schema.makeFilter(
  (value: unknown) => {
    if (!Array.isArray(value)) return "Expected an array of positions, such as [[9.52, 47.14], [9.53, 47.15]]"
    if (value.length > MAX_POSITIONS) return `Expected at most ${MAX_POSITIONS} positions`
    return value.every(isPosition) ? undefined : invalidPositions(value)
  },
  {
    toJsonSchema: () => ({
      type: "array",
      maxItems: MAX_POSITIONS,
      items: documentedPosition,
      description: "The line: positions of longitude, latitude, and elevation where there is one"
    })
  }
).abort()

/** The generic tuple decoder takes 100 times as long for a long route. The JSON codec leaves `Schema.Any` alone. */
export const Positions = Schema.Any.check(positionsFilter).pipe(
  Schema.refine((value): value is ReadonlyArray<Position> => Array.isArray(value))
)

/** A line has at most this many parts: beyond it the shortest gaps between them are closed. */
export const MAX_SEGMENTS = 1000

const SEGMENTS_EXPECTED = "Expected 0 first, and each index greater than the one before"

/** A part of the line begins at each of these indexes. No line is measured or drawn between two parts. */
export const Segments = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_POSITIONS - 1 })))
  .check(
    Schema.isMaxLength(MAX_SEGMENTS),
    Schema.makeFilter((starts) => {
      const index = starts.findIndex((start, index) => start !== 0 ? start <= (starts[index - 1] ?? start) : index > 0)
      return index === -1 || { path: [index], issue: SEGMENTS_EXPECTED }
    }, { toJsonSchema: () => ({ uniqueItems: true }) })
  ).annotate({
    description: "The indexes of the positions at which the parts of the line begin, where it has gaps: 0 first. "
      + "Nothing is measured or drawn across a gap; absent or `[0]` without one"
  })
export type Segments = typeof Segments.Type

export const Longitude = Schema.Finite.check(Schema.isBetween({ minimum: -MAX_LONGITUDE, maximum: MAX_LONGITUDE }))
  .annotate({ description: LONGITUDE })
export const Latitude = Schema.Finite.check(Schema.isBetween({ minimum: -MAX_LATITUDE, maximum: MAX_LATITUDE }))
  .annotate({ description: LATITUDE })

export const BoundingBox = Schema.Struct({
  west: Schema.Finite,
  south: Schema.Finite,
  east: Schema.Finite,
  north: Schema.Finite
})
export type BoundingBox = typeof BoundingBox.Type

const SecondLatitude = Schema.Finite.check(
  Schema.isBetween({ minimum: -MAX_LATITUDE, maximum: MAX_LATITUDE }, {
    message: `Expected a latitude of ${DEGREES.latitude} degrees: longitude comes first, then latitude`
  })
).annotate({ description: LATITUDE })

export const Coordinate = Schema.Tuple([Longitude, SecondLatitude])

/** Polylines have this many decimals, also those of the routing engine. */
export const POLYLINE_PRECISION = 6

const MAX_POLYLINE_LENGTH = 12 * MAX_POSITIONS

/** A polyline is decoded later, off the event loop if it is long; then its positions are checked. */
export const Polyline6Input = Schema.String.check(Schema.isMaxLength(MAX_POLYLINE_LENGTH)).annotate({
  description: `At most ${MAX_POSITIONS} positions in place of \`geometry\`: an encoded polyline with six decimals`,
  format: "polyline6"
})

export const Polyline6 = Schema.String.annotate({
  description: "An encoded polyline with six decimals, latitude first",
  format: "polyline6"
})

export const MAX_SIMPLIFIED = 200

export const GeometryForm = Schema.Literals(["full", "simplified", "none", "polyline6"]).annotate({
  description:
    `What of the line: \`geometry\` whole, at most ${MAX_SIMPLIFIED} positions of it, nothing, or \`polyline6\` in place `
    + "of `geometry`"
})
export type GeometryForm = typeof GeometryForm.Type
