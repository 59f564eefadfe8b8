import { Array as Arrays, Effect } from "effect"
import { DEGREES, isLongitude, type Position } from "../../schema/Geometry.ts"
import type { Dropped } from "../../schema/Import.ts"
import { InvalidInput } from "../DomainErrors.ts"
import { boundsOf, coordinatesOf, metresAlong, metresBetween, nearest, NO_GAPS } from "../geometry/Geodesy.ts"
import { droppedIf, type WrittenRoute } from "./Draft.ts"
import { isDateTime } from "./FileValues.ts"

const MAX_REPORTED = 20

/** This many members are read from a file; those that shape a route least are left out afterwards. */
export const MAX_READ_POSITIONS = 500_000

/** Waypoints and cues together are at most this many. */
const MAX_READ_WAYPOINTS = 5000

const POSITION_EXPECTED =
  `Expected a longitude of ${DEGREES.longitude} and a latitude of ${DEGREES.latitude}, as decimal numbers`

const UNUSABLE = "it has no usable position"
const NULL_ISLAND = "it is at 0/0, far from the others"

/** Usable positions and their points have the same index. */
export interface Placed<Item> {
  readonly items: ReadonlyArray<Item>
  readonly positions: ReadonlyArray<Position>
}

type Read = Position | undefined

/** Planners that do not wrap longitudes place neighbours closer than this. */
const NEAR_DEGREES = 10

const isNear = (position: Position, other: Position): boolean =>
  Math.abs(nearest(position[0], other[0]) - other[0]) <= NEAR_DEGREES
  && Math.abs(position[1] - other[1]) <= NEAR_DEGREES

const DIGITS = 10

const wrapped = ([lng, lat, elevation]: Position): Position => {
  const within = Number(nearest(lng, 0).toFixed(DIGITS))
  return elevation === undefined ? [within, lat] : [within, lat, elevation]
}

const isBeyond = (position: Read): position is Position => position !== undefined && !isLongitude(position[0])

/** Takes longitudes beyond 180 modulo 360 where they go on from a neighbour; others are no positions. */
const withinTurn = (read: ReadonlyArray<Read>): ReadonlyArray<Read> => {
  if (!read.some(isBeyond)) return read
  const result = [...read]
  const first = Math.max(0, read.findIndex((position) => position !== undefined && !isBeyond(position)))
  const follow = (indexes: ReadonlyArray<number>) => {
    let last: Read
    for (const at of indexes) {
      const position = read[at]
      if (position === undefined) continue
      const isGoingOn = last === undefined || isNear(position, last)
      if (isBeyond(position)) result[at] = isGoingOn ? wrapped(position) : undefined
      if (!isBeyond(position) || isGoingOn) last = position
    }
  }
  const indexes = [...read.keys()]
  follow(indexes.slice(first))
  follow(indexes.slice(0, first + 1).toReversed())
  return result
}

const isNullIsland = (position: Read): boolean => position !== undefined && position[0] === 0 && position[1] === 0

const FAR_METRES = 100_000
const FAR_TIMES = 1.5

/** Returns true if 0/0 is far away in relation to the extent of the line: a receiver without a fix writes it. */
const isFarFromNullIsland = (others: ReadonlyArray<Position>): boolean => {
  const box = boundsOf(coordinatesOf(others))
  if (box === undefined) return false
  const extent = metresBetween(box.west, box.south, box.east, box.north)
  const metres = metresBetween(
    0,
    0,
    Math.max(box.west, Math.min(box.east, 0)),
    Math.max(box.south, Math.min(box.north, 0))
  )
  return extent > 0 && metres > FAR_METRES && metres > FAR_TIMES * extent
}

const withoutNullIsland = (read: ReadonlyArray<Read>): ReadonlyArray<Read> => {
  const alone = read.filter(isNullIsland).length
  if (alone === 0) return read
  const others = read.filter((position) => position !== undefined).filter((position) => !isNullIsland(position))
  if (others.length < alone || !isFarFromNullIsland(others)) return read
  return read.map((position) => isNullIsland(position) ? undefined : position)
}

const countOf = (read: ReadonlyArray<Read>): number =>
  read.reduce((count, position) => position === undefined ? count : count + 1, 0)

const unusable = (path: string, read: ReadonlyArray<Read>) =>
  new InvalidInput({
    issues: read.flatMap((position, index) =>
      position === undefined ? [{ path: `${path}.${index}`, message: POSITION_EXPECTED }] : []
    ).slice(0, MAX_REPORTED)
  })

const placedOf = <Item>(items: ReadonlyArray<Item>, read: ReadonlyArray<Read>): Placed<Item> => {
  const positions = read.filter((position) => position !== undefined)
  return {
    items: positions.length === items.length ? items : items.filter((_, index) => read[index] !== undefined),
    positions
  }
}

const NOWHERE: Placed<never> = { items: [], positions: [] }

export const pairsOf = <Item>({ items, positions }: Placed<Item>) => Arrays.zip(items, positions)

/** A track keeps its usable positions while they are two or more, and at least half of all. */
const isSound = (usable: number, all: number) => usable === all || (usable >= 2 && 2 * usable >= all)

/**
 * Reads the positions of tracks with their parts. Leaves out what is no position, and tracks that are mostly without.
 * Fails with the first unusable ones by index below `path` if no track is left, and unread if there are too many.
 */
export const placedTracks = Effect.fnUntraced(function*<Item>(
  tracks: ReadonlyArray<ReadonlyArray<ReadonlyArray<Item>>>,
  positionOf: (item: Item) => Read,
  path: string
) {
  const count = tracks.reduce((sum, parts) => parts.reduce((sum, { length }) => sum + length, sum), 0)
  if (count > MAX_READ_POSITIONS) {
    return yield* InvalidInput.at("", `Expected at most ${MAX_READ_POSITIONS} positions, the file has ${count}`)
  }
  const counts = { kept: 0, unusable: 0, nullIsland: 0 }
  const reads: Array<ReadonlyArray<Read>> = []
  const placed = tracks.map((parts) => {
    const all = parts.flat()
    const read = withinTurn(all.map(positionOf))
    const usable = countOf(read)
    reads.push(read)
    if (!isSound(usable, all.length)) {
      counts.unusable += all.length
      return parts.map((): Placed<Item> => NOWHERE)
    }
    const kept = withoutNullIsland(read)
    const keptCount = countOf(kept)
    counts.kept += keptCount
    counts.unusable += all.length - usable
    counts.nullIsland += usable - keptCount
    let from = 0
    return parts.map((items) => {
      const start = from
      from += items.length
      return placedOf(items, kept.slice(start, from))
    })
  })
  if (counts.kept === 0 && counts.unusable > 0) return yield* unusable(path, reads.flat())
  return {
    tracks: placed,
    dropped: [
      ...droppedIf(counts.unusable, path, UNUSABLE),
      ...droppedIf(counts.nullIsland, path, NULL_ISLAND)
    ]
  }
})

export const segmentsOf = <Item>(parts: ReadonlyArray<Placed<Item>>): ReadonlyArray<ReadonlyArray<Position>> =>
  parts.map(({ positions }) => positions).filter(({ length }) => length > 0)

/** Reports the positions without an elevation whose items give one that could not be read. */
export const droppedElevations = <Item>(
  tracks: ReadonlyArray<ReadonlyArray<Placed<Item>>>,
  elevationOf: (item: Item) => string | undefined
): ReadonlyArray<Dropped> => {
  const isUnread = (item: Item, position: Read) => position?.length === 2 && (elevationOf(item) ?? "").trim() !== ""
  const counts = tracks.flat().map(({ items, positions }) =>
    items.filter((item, index) => isUnread(item, positions[index])).length
  )
  return droppedIf(counts.reduce((sum, count) => sum + count, 0), "elevations", "they are not decimal numbers")
}

/** Reads the waypoints beside a line, without what is no position. Without a line it fails as `placedTracks` does. */
export const placedPoints = Effect.fnUntraced(function*<Item>(
  items: ReadonlyArray<Item>,
  positionOf: (item: Item) => Read,
  path: string,
  line: ReadonlyArray<ReadonlyArray<Placed<unknown>>>
) {
  const given = items.slice(0, MAX_READ_WAYPOINTS)
  const excess = droppedIf(
    items.length - given.length,
    "waypoints",
    `at most ${MAX_READ_WAYPOINTS} of a file are read`
  )
  if (!line.some((parts) => parts.some(({ positions }) => positions.length > 0))) {
    const { dropped, tracks } = yield* placedTracks([[given]], positionOf, path)
    return { points: pairsOf(tracks[0]?.[0] ?? NOWHERE), dropped: [...dropped, ...excess] }
  }
  const read = given.map(positionOf)
  const isOdd = read.some((position) => isBeyond(position) || isNullIsland(position))
  const positions = isOdd ? line.flatMap((parts) => parts.flatMap((part) => part.positions)) : []
  const box = boundsOf(coordinatesOf(positions))
  const isFar = isFarFromNullIsland(positions)
  const isHere = ([lng]: Position) => {
    const { east, west } = box ?? { east: -Infinity, west: Infinity }
    const near = nearest(lng, (west + east) / 2)
    return near >= west - NEAR_DEGREES && near <= east + NEAR_DEGREES
  }
  const usable = read.map((position) => {
    if (!isBeyond(position)) return position
    return isHere(position) ? wrapped(position) : undefined
  })
  const kept = usable.map((position) => isNullIsland(position) && isFar ? undefined : position)
  return {
    points: pairsOf(placedOf(given, kept)),
    dropped: [
      ...droppedIf(given.length - countOf(usable), path, UNUSABLE),
      ...droppedIf(countOf(usable) - countOf(kept), path, NULL_ISLAND),
      ...excess
    ]
  }
})

const MINUTE = 60_000

const SECONDS_LENGTH = "00.000Z".length
const FRACTION_LENGTH = ".000Z".length

/** Dates are formatted once a minute, since one costs as much as the rest of a point. */
const clockFrom = (from: string | undefined) => {
  const start = from !== undefined && isDateTime(from) ? Date.parse(from) : 0
  const fraction = new Date(start).toISOString().slice(-FRACTION_LENGTH)
  const current = { minute: Number.NaN, text: "" }
  return (seconds: number) => {
    const time = start + seconds * 1000
    const minute = Math.floor(time / MINUTE)
    if (minute !== current.minute) {
      current.minute = minute
      current.text = new Date(minute * MINUTE).toISOString().slice(0, -SECONDS_LENGTH)
    }
    const second = Math.floor((time - minute * MINUTE) / 1000)
    return `${current.text}${second < 10 ? "0" : ""}${second}${fraction}`
  }
}

/**
 * Returns the time at each position, which is not stored. The first is that of the recording, else of the creation of
 * the route; others follow by distance within the duration, else a second for each position.
 */
export const timesAlong = ({ createdAt, duration, recordedAt }: WrittenRoute, metres: Float64Array) => {
  const clock = clockFrom(recordedAt ?? createdAt)
  const length = metres.at(-1) ?? 0
  return (index: number) =>
    clock(duration === undefined || length === 0 ? index : Math.round(duration * (metres[index] ?? 0) / length))
}

/** A recording without a duration has the time of its first position only. */
export const recordedTimes = (route: WrittenRoute): (index: number) => string | undefined => {
  const { duration, geometry, recordedAt, segments = NO_GAPS } = route
  if (recordedAt === undefined) return () => undefined
  if (duration === undefined) return (index) => index === 0 ? recordedAt : undefined
  return timesAlong(route, metresAlong(coordinatesOf(geometry), segments))
}
