import { Schema } from "effect"
import { Positions } from "../../src/schema/Geometry.ts"
import type { Circle } from "../../src/services/geometry/Circles.ts"
import { cutRoute } from "../../src/services/routes/ZoneCut.ts"
import { bestCircle } from "./CircleFit.ts"
import { metresFrom, ray } from "./Zones.ts"

const ROUTES = 20

const STEP = 20

const decodeLine = Schema.decodeUnknownSync(Schema.fromJsonString(Positions))

/** Where routes from a home in all directions begin for others. */
const visibleStarts = async (home: readonly [number, number], circles: ReadonlyArray<Circle>) => {
  const widest = Math.max(...circles.map(({ radius }) => radius))
  const cuts = await Promise.all(Array.from({ length: ROUTES }, (_, index) =>
    cutRoute.run({
      geometry: JSON.stringify(ray(home, 2 * Math.PI * index / ROUTES, 3 * widest, STEP)),
      waypoints: "[]",
      circles
    })))
  return cuts.map((cut) => {
    const [[lng, lat] = [0, 0]] = decodeLine(cut?.line?.json ?? "[]")
    return [lng, lat] as const
  })
}

/** By how many metres the best circle through those misses the home. */
export const missOf = async (home: readonly [number, number], circles: ReadonlyArray<Circle>) => {
  const { lat, lng } = bestCircle(await visibleStarts(home, circles))
  return metresFrom(home, [lng, lat])
}
