import type { Position } from "../../schema/Geometry.ts"
import { FULL_TURN, metresBetween, radians } from "../geometry/Geodesy.ts"

const RUN_LENGTH = 16

/** This many distances may be measured in any case, or a share for each query and position. */
const MIN_DISTANCES = 100_000
const DISTANCES_EACH = 8

const EDGES = 4
const NO_BOX = [Infinity, Infinity, -Infinity, -Infinity]

const NO_TURN = [0]
const TURNS = [0, -FULL_TURN, FULL_TURN]

interface Query {
  readonly lng: number
  readonly lat: number
  readonly scale: number
}

interface Found {
  index: number
  squared: number
}

const squared = (byLng: number, byLat: number, { scale }: Query) => (byLng * scale) ** 2 + byLat ** 2

const nodesOf = (length: number): number => length <= RUN_LENGTH ? 1 : 1 + 2 * nodesOf(length - (length >> 1))

const at = (values: Float64Array, index: number): number => values[index] ?? Number.NaN

/**
 * Finds nearest positions of a polyline, on a plane around each query, by boxes around runs of neighbours. A shape that
 * defeats them, like a circle around all queries, is searched up to 8 distances for each position and query; then the
 * best so far counts. Coordinates and boxes are flat: a search of objects takes four times as long.
 */
export class NearestPositions {
  readonly #longitudes: Float64Array
  readonly #latitudes: Float64Array
  /** Each node has a box; the halves of node `n` are `2 n + 1` and `2 n + 2`. */
  readonly #boxes: Float64Array
  #distances: number

  constructor(positions: ReadonlyArray<Position>, queries: number) {
    this.#longitudes = new Float64Array(positions.map(([lng]) => lng))
    this.#latitudes = new Float64Array(positions.map(([, lat]) => lat))
    this.#boxes = new Float64Array(EDGES * nodesOf(positions.length))
    this.#distances = MIN_DISTANCES + DISTANCES_EACH * (positions.length + queries)
    this.#enclose(0, 0, positions.length)
  }

  /** Returns the first of several nearest; 0 for an empty polyline. */
  indexOf([lng, lat]: readonly [lng: number, lat: number]): number {
    const found: Found = { index: 0, squared: Infinity }
    const scale = Math.cos(radians(lat))
    // Up to half a turn apart, the way across the antimeridian is never the shorter one.
    const isWide = Math.max(lng, this.#edge(0, 2)) - Math.min(lng, this.#edge(0, 0)) > FULL_TURN / 2
    for (const turn of isWide ? TURNS : NO_TURN) {
      this.#search(0, 0, this.#longitudes.length, { lng: lng + turn, lat, scale }, found)
    }
    return found.index
  }

  #enclose(node: number, from: number, to: number): void {
    this.#boxes.set(NO_BOX, EDGES * node)
    if (to - from > RUN_LENGTH) {
      const middle = (from + to) >> 1
      this.#encloseHalf(node, 2 * node + 1, from, middle)
      this.#encloseHalf(node, 2 * node + 2, middle, to)
      return
    }
    for (let index = from; index < to; index++) {
      const [lng, lat] = [at(this.#longitudes, index), at(this.#latitudes, index)]
      this.#extend(node, lng, lat, lng, lat)
    }
  }

  #encloseHalf(node: number, half: number, from: number, to: number): void {
    this.#enclose(half, from, to)
    this.#extend(node, this.#edge(half, 0), this.#edge(half, 1), this.#edge(half, 2), this.#edge(half, 3))
  }

  #extend(node: number, west: number, south: number, east: number, north: number): void {
    const first = EDGES * node
    this.#boxes[first] = Math.min(this.#edge(node, 0), west)
    this.#boxes[first + 1] = Math.min(this.#edge(node, 1), south)
    this.#boxes[first + 2] = Math.max(this.#edge(node, 2), east)
    this.#boxes[first + 3] = Math.max(this.#edge(node, 3), north)
  }

  #edge(node: number, edge: number): number {
    return at(this.#boxes, EDGES * node + edge)
  }

  /** Returns no more than the distance to anything in the box, rounding included. */
  #distanceToBox(node: number, query: Query): number {
    return squared(
      Math.max(this.#edge(node, 0) - query.lng, 0, query.lng - this.#edge(node, 2)),
      Math.max(this.#edge(node, 1) - query.lat, 0, query.lat - this.#edge(node, 3)),
      query
    )
  }

  #search(node: number, from: number, to: number, query: Query, found: Found): void {
    if (to - from <= RUN_LENGTH) return this.#searchRun(from, to, query, found)
    this.#distances -= 2
    const middle = (from + to) >> 1
    const [a, b] = [2 * node + 1, 2 * node + 2]
    if (this.#distanceToBox(a, query) <= this.#distanceToBox(b, query)) {
      this.#search(a, from, middle, query, found)
      if (this.#isPossible(b, middle, query, found)) this.#search(b, middle, to, query, found)
    } else {
      this.#search(b, middle, to, query, found)
      if (this.#isPossible(a, from, query, found)) this.#search(a, from, middle, query, found)
    }
  }

  #isPossible(node: number, from: number, query: Query, found: Found): boolean {
    const distance = this.#distanceToBox(node, query)
    return this.#distances > 0 && (distance < found.squared || (distance === found.squared && from < found.index))
  }

  #searchRun(from: number, to: number, query: Query, found: Found): void {
    this.#distances -= to - from
    for (let index = from; index < to; index++) {
      const distance = squared(at(this.#longitudes, index) - query.lng, at(this.#latitudes, index) - query.lat, query)
      if (distance > found.squared || (distance === found.squared && index >= found.index)) continue
      found.index = index
      found.squared = distance
    }
  }
}

/** A position that is so much further than the nearest one is as good. */
export const NEAR_METRES = 20

/** A waypoint so near to an end of the line may be that end: a round trip begins where it ends. */
export const END_METRES = 100

/** This many positions are looked at for each point and position, before the nearest of all counts. */
const LOOKS_EACH = 8

interface Point {
  readonly coord: readonly [lng: number, lat: number]
}

/**
 * Finds points one after the other, so that a line that goes out and back has each on its own way. The first and the
 * last point are at the ends of the line that are within `END_METRES` and at most `endMargin` further than the nearest
 * position.
 */
export const placesOf = (
  points: ReadonlyArray<Point>,
  line: ReadonlyArray<Position>,
  endMargin = -Infinity
): ReadonlyArray<number> => {
  const nearest = new NearestPositions(line, points.length)
  const end = Math.max(0, line.length - 1)
  let from = 0
  let looks = LOOKS_EACH * (line.length + points.length)
  return points.map(({ coord: [lng, lat] }, order) => {
    const metresTo = (at: number) => metresBetween(lng, lat, line[at]?.[0] ?? lng, line[at]?.[1] ?? lat)
    const first = nearest.indexOf([lng, lat])
    const isAt = (index: number) => metresTo(index) <= Math.min(END_METRES, metresTo(first) + endMargin)
    if (order === 0 && isAt(0)) return 0
    if (order === points.length - 1 && isAt(end)) return end
    if (first < from) {
      const limit = metresTo(first) + NEAR_METRES
      for (let at = from; at < line.length && looks > 0; at++, looks--) if (metresTo(at) <= limit) return from = at
      return first
    }
    return from = first
  })
}
