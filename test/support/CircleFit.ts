import type { Circle } from "../../src/services/geometry/Geodesy.ts"
import { METRES_OF_A_DEGREE, type Place } from "./Zones.ts"

const ROUNDS = 50

/** Fits a circle to places by least squares (Coope's linear fit, then Gauss-Newton on the distances). */
export const bestCircle = (places: ReadonlyArray<Place>): Circle => {
  const [[lng0, lat0] = [0, 0]] = places
  const scale = Math.cos(lat0 * Math.PI / 180) * METRES_OF_A_DEGREE
  const points = places.map(([lng, lat]) => [(lng - lng0) * scale, (lat - lat0) * METRES_OF_A_DEGREE] as const)
  const linear = solved(points.map(([x, y]) => [2 * x, 2 * y, 1, x * x + y * y]))
  const start = { x: linear[0], y: linear[1], radius: Math.sqrt(linear[2] + linear[0] ** 2 + linear[1] ** 2) }
  const best = Array.from({ length: ROUNDS }).reduce<typeof start>(({ radius, x, y }) => {
    const [byX, byY, byRadius] = solved(points.map(([atX, atY]) => {
      const away = Math.hypot(atX - x, atY - y)
      return [(x - atX) / away, (y - atY) / away, -1, radius - away]
    }))
    return { x: x + byX, y: y + byY, radius: radius + byRadius }
  }, start)
  return { lng: lng0 + best.x / scale, lat: lat0 + best.y / METRES_OF_A_DEGREE, radius: best.radius }
}

type Triple = readonly [number, number, number]
type Row = readonly [number, number, number, number]

const cross = ([a, b, c]: Triple, [d, e, f]: Triple): Triple => [b * f - c * e, c * d - a * f, a * e - b * d]
const dot = ([a, b, c]: Triple, [d, e, f]: Triple) => a * d + b * e + c * f

/** Solves more equations for three unknowns (the last column is the right side): normal equations, Cramer's rule. */
const solved = (rows: ReadonlyArray<Row>): Triple => {
  const sum = (one: 0 | 1 | 2, other: 0 | 1 | 2 | 3) => rows.reduce((sum, row) => sum + row[one] * row[other], 0)
  const first: Triple = [sum(0, 0), sum(0, 1), sum(0, 2)]
  const second: Triple = [sum(1, 0), sum(1, 1), sum(1, 2)]
  const third: Triple = [sum(2, 0), sum(2, 1), sum(2, 2)]
  const right: Triple = [sum(0, 3), sum(1, 3), sum(2, 3)]
  const whole = dot(first, cross(second, third))
  return [
    dot(right, cross(second, third)) / whole,
    dot(first, cross(right, third)) / whole,
    dot(first, cross(second, right)) / whole
  ]
}
