import { Schema } from "effect"
import { Positions } from "../../src/schema/Geometry.ts"
import type { Circle } from "../../src/services/geometry/Circles.ts"
import { cutRoute } from "../../src/services/routes/ZoneCut.ts"
import { bestCircle } from "./CircleFit.ts"
import { beside, metresFrom, type Place, ray } from "./Zones.ts"

const ROUTES = 20

const STEP = 20

const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Positions))

/** Where straight routes from a home in all directions begin for others, and how many metres of each are hidden. */
const cutRays = async (home: Place, circles: ReadonlyArray<Circle>) => {
  const length = 3 * Math.max(...circles.map(({ radius }) => radius))
  const rays = Array.from({ length: ROUTES }, (_, index) => ray(home, 2 * Math.PI * index / ROUTES, length, STEP))
  return await Promise.all(rays.map(async (line) => {
    const cut = await cutRoute.run({ geometry: JSON.stringify(line), waypoints: "[]", cues: null, circles })
    const left = decodeLine(cut?.line?.json ?? "[]")
    const [[lng, lat] = home] = left
    return { start: [lng, lat] as const, hidden: STEP * (line.length - left.length) }
  }))
}

/** By how many metres the best circle through the ends misses the home. */
export const missOf = async (home: Place, circles: ReadonlyArray<Circle>) => {
  const { lat, lng } = bestCircle((await cutRays(home, circles)).map(({ start }) => start))
  return metresFrom(home, [lng, lat])
}

const SIDES = [[1, 0], [-1, 0], [0, 1], [0, -1]] as const

/** The same of the place that is as far from each end as is hidden of its route, by the distance of the whole one. */
export const missByDistance = async (home: Place, circles: ReadonlyArray<Circle>) => {
  const rays = await cutRays(home, circles)
  const costOf = (place: Place) =>
    rays.reduce((sum, { hidden, start }) => sum + (hidden - metresFrom(place, start)) ** 2, 0)
  const search = (place: Place, step: number): Place => {
    if (step < 1) return place
    const better = SIDES.map(([x, y]) => beside(place, x * step, y * step)).find((side) => costOf(side) < costOf(place))
    return better === undefined ? search(place, step / 2) : search(better, step)
  }
  const { lat, lng } = bestCircle(rays.map(({ start }) => start))
  return metresFrom(home, search([lng, lat], 1000))
}
