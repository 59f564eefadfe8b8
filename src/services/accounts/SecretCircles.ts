import { Config } from "effect"
import { createHmac } from "node:crypto"
import type { UserId } from "../../schema/Ids.ts"
import type { PrivacyZone } from "../../schema/PrivacyZone.ts"
import { type Circle, destination, METRES_OF_A_DEGREE } from "../geometry/Circles.ts"
import { metresBetween, radians } from "../geometry/Geodesy.ts"
import { derivedKey } from "../keys/DerivedKeys.ts"

/**
 * Parts of the zone's radius by which the centre of the cut moves. The centre of the circle through the ends of cut
 * lines is known to anyone, so the least is more than a half by what such a circle may miss.
 */
const MOVED = { least: 0.65, most: 1 }

/** By how much the cut is larger than it had to be: its radius would show how far it was moved. */
const LARGER = { least: 0.05, most: 0.25 }

const MAX_RADII = 1 + MOVED.most + LARGER.most

const FULL_TURN = 2 * Math.PI

const UINT32 = 2 ** 32

/** Squares of about a radius on each side: centres of one home, from two devices, are in one or two of them. */
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
 * The circle to cut for a zone, which has all of the zone in it. A circle that the user has and that fits is taken, so
 * that a zone which is moved by some metres, and one beside another, do not show a second circle. Any other is derived
 * from the secret, the cell and the radius: a zone that was deleted and comes again has the circle that it had.
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
      ...destination(lng, lat, FULL_TURN * share(1), moved * radius),
      radius: (1 + moved + within(LARGER, share(2))) * radius
    }
  }
  return (owner: UserId, zone: PrivacyZone, known: ReadonlyArray<Circle>): Circle =>
    known.find(fits(zone)) ?? derived(owner, zone)
})
