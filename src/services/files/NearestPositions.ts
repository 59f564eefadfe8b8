import type { Position } from "../../schema/Geometry.ts"

/** So many neighbours on the line have a box around them. */
const RUN_LENGTH = 16

/** What is looked at, for all queries together and for each of them and each position, before a search settles. */
const MIN_LOOKS = 100_000
const LOOKS_EACH = 8

/** A box around neighbours on the line: two halves, or a run of positions. */
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
  /** How long a degree of longitude is there, as part of a degree of latitude. */
  readonly scale: number
}

interface Found {
  index: number
  squared: number
}

const squared = (byLng: number, byLat: number, { scale }: Query) => (byLng * scale) ** 2 + byLat ** 2

const distanceTo = ([lng, lat]: Position, query: Query) => squared(lng - query.lng, lat - query.lat, query)

/** Not more than the distance to anything in the box, rounding included. */
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
 * Finds the positions of a line that are nearest to others, on a plane around each of those. Neighbours on a line are
 * near each other, so boxes around runs of them leave little to look at. A line that is made to defeat them, like a circle
 * around all queries, is searched until there were 8 looks for each position and query; then the best so far is taken.
 */
export class NearestPositions {
  readonly #positions: ReadonlyArray<Position>
  readonly #root: Box
  #looks: number

  constructor(positions: ReadonlyArray<Position>, queries: number) {
    this.#positions = positions
    this.#root = boxAround(positions, 0, positions.length)
    this.#looks = MIN_LOOKS + LOOKS_EACH * (positions.length + queries)
  }

  /** The index of the nearest position, the first of several; 0 for a line without positions. */
  indexOf([lng, lat]: readonly [lng: number, lat: number]): number {
    const found: Found = { index: 0, squared: Infinity }
    this.#search(this.#root, { lng, lat, scale: Math.cos(lat * Math.PI / 180) }, found)
    return found.index
  }

  #search(box: Box, query: Query, found: Found): void {
    if (box.halves === undefined) return this.#searchRun(box, query, found)
    this.#looks -= 2
    const [a, b] = box.halves
    const [toA, toB] = [distanceToBox(a, query), distanceToBox(b, query)]
    const [near, far, toFar] = toA <= toB ? [a, b, toB] as const : [b, a, toA] as const
    this.#search(near, query, found)
    const isPossible = toFar < found.squared || (toFar === found.squared && far.from < found.index)
    if (isPossible && this.#looks > 0) this.#search(far, query, found)
  }

  #searchRun({ from, to }: Box, query: Query, found: Found): void {
    this.#looks -= to - from
    for (let index = from; index < to; index++) {
      const position = this.#positions[index]
      const distance = position === undefined ? Infinity : distanceTo(position, query)
      if (distance > found.squared || (distance === found.squared && index >= found.index)) continue
      found.index = index
      found.squared = distance
    }
  }
}
