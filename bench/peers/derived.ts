import polylines from "@mapbox/polyline"
import { distance } from "geokdbush"
import simplify from "simplify-js"

export type Position = readonly [number, number] | readonly [number, number, number]

/** What the service stores beside a line, by libraries: its length, box, 200 positions of it, an encoded polyline. */
export const derived = (positions: ReadonlyArray<Position>) => {
  const points = positions.map(([x, y]) => ({ x, y }))
  const lngs = points.map(({ x }) => x)
  const lats = points.map(({ y }) => y)
  const [west, east] = [lngs.reduce((a, b) => Math.min(a, b)), lngs.reduce((a, b) => Math.max(a, b))]
  const [south, north] = [lats.reduce((a, b) => Math.min(a, b)), lats.reduce((a, b) => Math.max(a, b))]
  const tolerance = Math.max(east - west, north - south) / 1000
  const lengths = points.map(({ x, y }, index) => {
    const previous = points[index - 1]
    return previous === undefined ? 0 : 1000 * distance(previous.x, previous.y, x, y)
  })
  return {
    box: `(${east},${north}),(${west},${south})`,
    distance: lengths.reduce((sum, length) => sum + length, 0),
    simplified: simplify(points, tolerance).map(({ x, y }) => [x, y]),
    polyline: polylines.encode(points.map(({ x, y }) => [y, x]), 6)
  }
}
