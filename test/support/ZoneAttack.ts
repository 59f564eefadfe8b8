import { Schema } from "effect"
import { Positions } from "../../src/schema/Geometry.ts"
import type { Circle } from "../../src/services/geometry/Geodesy.ts"
import { cutRoute } from "../../src/services/routes/ZoneCut.ts"
import { bestCircle } from "./CircleFit.ts"
import { beside, metresFrom, type Place, ray } from "./Zones.ts"

/** Anyone knows these: the pace in metres a second, and the metres climbed with each metre. */
const PACE = 1.4
const SLOPE = 0.03

/** Anyone can compute the metres of a line by these fields of its route. */
const METRES = {
  distance: ({ distance }: Measures) => distance,
  duration: ({ duration }: Measures) => duration === null ? null : duration * PACE,
  elevationGain: ({ elevationGain }: Measures) => elevationGain === null ? null : elevationGain / SLOPE
}

type Field = keyof typeof METRES

const FIELDS: ReadonlyArray<Field> = ["distance", "duration", "elevationGain"]

export interface Measures {
  readonly distance: number | null
  readonly duration: number | null
  readonly elevationGain: number | null
}

/** Others see this part of a route that begins at a home. */
export interface Seen {
  readonly line: ReadonlyArray<Place>
  readonly measures: Measures
}

export const metresOf = (line: ReadonlyArray<Place>) =>
  line.reduce((metres, place, index) => metres + metresFrom(line[index - 1] ?? place, place), 0)

/** Returns a line that leaves a place in a direction that may change with the metres from it, and climbs. */
export const street = (from: Place, metres: number, step: number, headingAt: (metres: number) => number) =>
  Array.from({ length: Math.floor(metres / step) }).reduce<ReadonlyArray<readonly [number, number, number]>>(
    (line, _, index) => {
      const [lng, lat, height] = line[index] ?? [...from, 0]
      const heading = headingAt(index * step)
      const next = beside([lng, lat], Math.cos(heading) * step, Math.sin(heading) * step)
      return [...line, [...next, height + SLOPE * step]]
    },
    [[...from, 400]]
  )

const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Positions))

export const measuresOf = (line: ReadonlyArray<readonly [number, number, ...Array<number>]>): Measures => {
  const metres = metresOf(line.map(([lng, lat]) => [lng, lat]))
  return { distance: metres, duration: metres / PACE, elevationGain: metres * SLOPE }
}

export const seenOf = async (
  line: ReadonlyArray<readonly [number, number, ...Array<number>]>,
  circles: ReadonlyArray<Circle>
): Promise<Seen> => {
  const whole = measuresOf(line)
  const cut = await cutRoute.run({
    ...whole,
    geometry: JSON.stringify(line),
    segments: null,
    waypoints: "[]",
    cues: null,
    circles
  })
  const left = cut === undefined ? line : decodeLine(cut.line?.json ?? "[]")
  return { line: left.map(([lng, lat]) => [lng, lat]), measures: cut?.measures ?? whole }
}

const endOf = ({ line: [end = [0, 0]] }: Seen): Place => end

/** Returns by how many metres a field is longer than the visible line. */
const hiddenOf = ({ line, measures }: Seen, field: Field) =>
  Math.max(0, (METRES[field](measures) ?? 0) - metresOf(line))

/** Returns the place that is as far before the visible line as a field says, in the direction of its first segment. */
const walkedBack = (seen: Seen, field: Field): Place => {
  const [end = [0, 0], next = end] = seen.line
  const share = hiddenOf(seen, field) / Math.max(metresFrom(end, next), Number.EPSILON)
  return [end[0] + (end[0] - next[0]) * share, end[1] + (end[1] - next[1]) * share]
}

const meanOf = (places: ReadonlyArray<Place>): Place => [
  places.reduce((sum, [lng]) => sum + lng, 0) / places.length,
  places.reduce((sum, [, lat]) => sum + lat, 0) / places.length
]

const SIDES = [[1, 0], [-1, 0], [0, 1], [0, -1]] as const

/** Returns the place whose distance to each end is nearest to what a field says, by least squares. */
const placeBy = (routes: ReadonlyArray<Seen>, field: Field): Place => {
  const ends = routes.map((seen) => ({ end: endOf(seen), hidden: hiddenOf(seen, field) }))
  const costOf = (place: Place) =>
    ends.reduce((sum, { end, hidden }) => sum + (hidden - metresFrom(place, end)) ** 2, 0)
  const search = (place: Place, step: number): Place => {
    if (step < 1) return place
    const better = SIDES.map(([x, y]) => beside(place, x * step, y * step)).find((side) => costOf(side) < costOf(place))
    return better === undefined ? search(place, step / 2) : search(better, step)
  }
  return search(meanOf(ends.map(({ end }) => end)), 1000)
}

/** The mean of fewer ends is near to the home by chance, with zones or without. */
const ENOUGH = 12

const centreThrough = (ends: ReadonlyArray<Place>): Place => {
  const { lat, lng } = bestCircle(ends)
  return [lng, lat]
}

/** Returns where a home may be, by each field, and by the ends of the lines that leave it in all directions. */
export const estimatesOf = (routes: ReadonlyArray<Seen>): Readonly<Record<string, ReadonlyArray<Place>>> => {
  const ends = routes.map(endOf)
  const isAround = new Set(ends.map((end) => end.join())).size >= 3
  const [first = [0, 0], second = first] = routes[0]?.line ?? []
  const fields = FIELDS.filter((field) => routes.some((seen) => hiddenOf(seen, field) > metresFrom(first, second)))
  return {
    ends,
    ...Object.fromEntries(
      FIELDS.map((field) => [`${field}, walked back`, routes.map((seen) => walkedBack(seen, field))])
    ),
    ...(isAround ? { circle: [centreThrough(ends)] } : {}),
    ...(isAround && routes.length >= ENOUGH ? { mean: [meanOf(ends)] } : {}),
    ...(isAround
      ? Object.fromEntries(fields.map((field) => [`${field}, least squares`, [placeBy(routes, field)]]))
      : {})
  }
}

const RAYS = 20

const STEP = 20

/** Returns straight routes from a home in all directions. */
const cutRays = (home: Place, circles: ReadonlyArray<Circle>) => {
  const length = 3 * Math.max(...circles.map(({ radius }) => radius))
  const rays = Array.from({ length: RAYS }, (_, index) => ray(home, 2 * Math.PI * index / RAYS, length, STEP))
  return Promise.all(rays.map((line) => seenOf(line, circles)))
}

/** Returns by how many metres the best circle through the ends misses the home. */
export const missOf = async (home: Place, circles: ReadonlyArray<Circle>) =>
  metresFrom(home, centreThrough((await cutRays(home, circles)).map(endOf)))
