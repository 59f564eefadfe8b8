import { distance } from "geokdbush"
import { type BoundingBox, isLatitude, isLongitude, type Position, type Segments } from "../../schema/Geometry.ts"

/** `geokdbush` measures on this sphere, in metres. */
export const EARTH_RADIUS = 6_371_000

export const FULL_TURN = 360

export const radians = (degrees: number): number => degrees * Math.PI / 180

export const degrees = (radians: number): number => radians * 180 / Math.PI

/** Measures along a great circle (haversine). */
export const metresBetween = (fromLng: number, fromLat: number, toLng: number, toLat: number): number =>
  1000 * distance(fromLng, fromLat, toLng, toLat)

/** Measures that we derive are no more exact. */
export const centimetres = (metres: number): number => Math.round(metres * 100) / 100

/** The degrees are flat arrays: an object for each position would be slow to measure. */
export interface Coordinates {
  readonly lngs: Float64Array
  readonly lats: Float64Array
}

export const coordinatesOf = (positions: ReadonlyArray<Position>): Coordinates => {
  const lngs = new Float64Array(positions.length)
  const lats = new Float64Array(positions.length)
  positions.forEach((position, index) => {
    lngs[index] = position[0]
    lats[index] = position[1]
  })
  return { lngs, lats }
}

export const isOnEarth = ({ lats, lngs }: Coordinates): boolean => lats.every(isLatitude) && lngs.every(isLongitude)

export const NO_GAPS: Segments = []

/** Returns the parts of a line of so many positions, each as its first index and that after its last. */
export const rangesOf = (
  length: number,
  segments: Segments
): ReadonlyArray<{ readonly from: number; readonly to: number }> => {
  const starts = segments.length === 0 ? [0] : segments
  return starts.filter((from) => from < length).map((from, index) => ({
    from,
    to: Math.min(starts[index + 1] ?? length, length)
  }))
}

/** Measures from the start of the line to each of its positions. A gap has no length. */
export const metresAlong = ({ lats, lngs }: Coordinates, segments: Segments = NO_GAPS): Float64Array => {
  const metres = new Float64Array(lngs.length)
  let next = 1
  for (let index = 1; index < lngs.length; index++) {
    const before = metres[index - 1] ?? 0
    if (index === segments[next]) {
      metres[index] = before
      next++
      continue
    }
    metres[index] = before
      + metresBetween(lngs[index - 1] ?? 0, lats[index - 1] ?? 0, lngs[index] ?? 0, lats[index] ?? 0)
  }
  return metres
}

export const lineMetres = (line: Coordinates, segments: Segments = NO_GAPS): number =>
  metresAlong(line, segments).at(-1) ?? 0

/** Turns a longitude to the value nearest to the previous one. */
export const nearest = (lng: number, previous: number) => lng + FULL_TURN * Math.round((previous - lng) / FULL_TURN)

/** Returns the box: east is over 180 across the antimeridian, west never. Returns undefined without a position. */
export const boundsOf = ({ lats, lngs }: Coordinates): BoundingBox | undefined => {
  let [west] = lngs
  if (west === undefined) return undefined
  let [east, last, south, north] = [west, west, Infinity, -Infinity]
  for (let index = 0; index < lngs.length; index++) {
    const lat = lats[index] ?? 0
    last = nearest(lngs[index] ?? 0, last)
    west = Math.min(west, last)
    east = Math.max(east, last)
    south = Math.min(south, lat)
    north = Math.max(north, lat)
  }
  const shift = FULL_TURN * Math.floor((west + FULL_TURN / 2) / FULL_TURN)
  return { west: west - shift, east: east - shift, south, north }
}

/** The centre is in degrees, the radius in metres. */
export interface Circle {
  readonly lng: number
  readonly lat: number
  readonly radius: number
}

const METRES_OF_A_DEGREE = radians(EARTH_RADIUS)

/** Returns a difference of longitudes, by the shorter way around the Earth. */
const turned = (lng: number) => lng - FULL_TURN * Math.round(lng / FULL_TURN)

/** Returns the position `metres` away in a direction (radians, clockwise from north). */
export const destination = (lng: number, lat: number, bearing: number, metres: number) => {
  const angle = metres / EARTH_RADIUS
  const from = radians(lat)
  const to = Math.asin(Math.sin(from) * Math.cos(angle) + Math.cos(from) * Math.sin(angle) * Math.cos(bearing))
  const east = Math.atan2(
    Math.sin(bearing) * Math.sin(angle) * Math.cos(from),
    Math.cos(angle) - Math.sin(from) * Math.sin(to)
  )
  return { lng: turned(lng + degrees(east)), lat: degrees(to) }
}

export const isInside = ({ lat, lng, radius }: Circle, atLng: number, atLat: number): boolean =>
  Math.abs(atLat - lat) * METRES_OF_A_DEGREE <= radius && metresBetween(lng, lat, atLng, atLat) <= radius

/** Returns true if a straight line on a map crosses the circle, on a plane that touches the circle's centre. */
export const crosses = (
  { lat, lng, radius }: Circle,
  fromLng: number,
  fromLat: number,
  toLng: number,
  toLat: number
): boolean => {
  const height = radius / METRES_OF_A_DEGREE
  if (Math.min(fromLat, toLat) > lat + height || Math.max(fromLat, toLat) < lat - height) return false
  const scale = Math.cos(radians(lat))
  const x = turned(fromLng - lng) * scale
  const y = fromLat - lat
  const alongX = turned(toLng - fromLng) * scale
  const alongY = toLat - fromLat
  const length = alongX * alongX + alongY * alongY
  const share = length === 0 ? 0 : Math.min(1, Math.max(0, -(x * alongX + y * alongY) / length))
  return Math.hypot(x + share * alongX, y + share * alongY) <= height
}
