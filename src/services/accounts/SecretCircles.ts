import { Config } from "effect"
import { createHmac } from "node:crypto"
import type { UserId } from "../../schema/Ids.ts"
import type { PrivacyZone } from "../../schema/PrivacyZone.ts"
import { type Circle, destination, METRES_OF_A_DEGREE } from "../geometry/Circles.ts"
import { metresBetween, radians } from "../geometry/Geodesy.ts"
import { derivedKey } from "../keys/DerivedKeys.ts"

/**
 * The distance between the centres of the zone and of the cut, in radii of the zone. Anyone can compute the centre of the
 * cut from the ends of lines, so the distance is more than a half.
 */
const MOVED = { least: 0.65, most: 1 }

/** Added to the radius in radii of the zone: otherwise the radius shows the distance of the centres. */
const LARGER = { least: 0.05, most: 0.25 }

const MAX_RADII = 1 + MOVED.most + LARGER.most

const TURN_RADIANS = 2 * Math.PI

const UINT32 = 2 ** 32

/** A square of about one radius: two zones around one home are in the same or in the next cell. */
const cellOf = ({ center: [lng, lat], radius }: PrivacyZone) => {
  const row = Math.floor(lat * METRES_OF_A_DEGREE / radius)
  const width = Math.max(Math.cos(radians(row * radius / METRES_OF_A_DEGREE)), Number.EPSILON)
  return [row, Math.floor(lng * width * METRES_OF_A_DEGREE / radius)]
}

/** Whether a circle hides the zone as well as a new one would. */
const fits = ({ center: [lng, lat], radius }: PrivacyZone) => (circle: Circle): boolean => {
  const moved = metresBetween(lng, lat, circle.lng, circle.lat)
  return moved >= MOVED.least * radius && moved + radius <= circle.radius && circle.radius <= MAX_RADII * radius
}

/**
 * The circle to cut for a zone; it contains the zone. A known circle of the user is reused where it fits, so that zones a
 * few metres apart show no second circle. Otherwise it is derived from the key, the user, the cell and the radius, so that
 * a zone that is deleted and made again has the same circle.
 */
export const secretCircles = Config.map(derivedKey("privacy-zones"), (key) => {
  const derived = (owner: UserId, zone: PrivacyZone): Circle => {
    const { center: [lng, lat], radius } = zone
    const digest = createHmac("sha256", key).update(JSON.stringify([owner, ...cellOf(zone), radius])).digest()
    const share = (number: number) => digest.readUInt32BE(4 * number) / UINT32
    const within = ({ least, most }: typeof MOVED, share: number) => least + (most - least) * share
    // Evenly over the area, not over the distance.
    const moved = Math.sqrt(within({ least: MOVED.least ** 2, most: MOVED.most ** 2 }, share(0)))
    return {
      ...destination(lng, lat, TURN_RADIANS * share(1), moved * radius),
      radius: (1 + moved + within(LARGER, share(2))) * radius
    }
  }
  return (owner: UserId, zone: PrivacyZone, known: ReadonlyArray<Circle>): Circle =>
    known.find(fits(zone)) ?? derived(owner, zone)
})
