import type { Position } from "../../schema/Geometry.ts"

const RUN_LENGTH = 16

/** Distances that are measured: a minimum, and a share for each query and position. */
const MIN_DISTANCES = 100_000
const DISTANCES_EACH = 8

interface Box {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
  readonly from: number
  readonly to: number
  readonly halves: readonly [Box, Box] | undefined
}

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

const distanceTo = ([lng, lat]: Position, query: Query) => squared(lng - query.lng, lat - query.lat, query)

/** At most the distance to anything in the box, rounding included. */
const distanceToBox = ({ east, north, south, west }: Box, query: Query) =>
  squared(
    Math.max(west - query.lng, 0, query.lng - east),
    Math.max(south - query.lat, 0, query.lat - north),
    query
  )

const boxOfRun = (positions: ReadonlyArray<Position>, from: number, to: number): Box => {
  const run = positions.slice(from, to)
  const longitudes = run.map(([lng]) => lng)
  const latitudes = run.map(([, lat]) => lat)
  return {
    west: Math.min(...longitudes),
    south: Math.min(...latitudes),
    east: Math.max(...longitudes),
    north: Math.max(...latitudes),
    from,
    to,
    halves: undefined
  }
}

const boxAround = (positions: ReadonlyArray<Position>, from: number, to: number): Box => {
  if (to - from <= RUN_LENGTH) return boxOfRun(positions, from, to)
  const middle = (from + to) >> 1
  const halves = [boxAround(positions, from, middle), boxAround(positions, middle, to)] as const
  const [a, b] = halves
  return {
    west: Math.min(a.west, b.west),
    south: Math.min(a.south, b.south),
    east: Math.max(a.east, b.east),
    north: Math.max(a.north, b.north),
    from,
    to,
    halves
  }
}

/**
 * Nearest positions of a polyline, on a plane around each query, by boxes around runs of neighbours. A shape that
 * defeats them, like a circle around all queries, is searched up to 8 distances for each position and query; then the
 * best so far counts.
 */
export class NearestPositions {
  readonly #positions: ReadonlyArray<Position>
  readonly #root: Box
  #distances: number

  constructor(positions: ReadonlyArray<Position>, queries: number) {
    this.#positions = positions
    this.#root = boxAround(positions, 0, positions.length)
    this.#distances = MIN_DISTANCES + DISTANCES_EACH * (positions.length + queries)
  }

  /** The first of several; 0 for an empty polyline. */
  indexOf([lng, lat]: readonly [lng: number, lat: number]): number {
    const found: Found = { index: 0, squared: Infinity }
    this.#search(this.#root, { lng, lat, scale: Math.cos(lat * Math.PI / 180) }, found)
    return found.index
  }

  #search(box: Box, query: Query, found: Found): void {
    if (box.halves === undefined) return this.#searchRun(box, query, found)
    this.#distances -= 2
    const [a, b] = box.halves
    const [toA, toB] = [distanceToBox(a, query), distanceToBox(b, query)]
    const [near, far, toFar] = toA <= toB ? [a, b, toB] as const : [b, a, toA] as const
    this.#search(near, query, found)
    const isPossible = toFar < found.squared || (toFar === found.squared && far.from < found.index)
    if (isPossible && this.#distances > 0) this.#search(far, query, found)
  }

  #searchRun({ from, to }: Box, query: Query, found: Found): void {
    this.#distances -= to - from
    for (let index = from; index < to; index++) {
      const position = this.#positions[index]
      const distance = position === undefined ? Infinity : distanceTo(position, query)
      if (distance > found.squared || (distance === found.squared && index >= found.index)) continue
      found.index = index
      found.squared = distance
    }
  }
}
