import { degrees, EARTH_RADIUS, FULL_TURN, metresBetween, radians } from "./Geodesy.ts"

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

/** True if a straight line on a map crosses the circle, on a plane that touches the circle's centre. */
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
