import { Config, Context, Effect, Equal, flow, Layer, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHmac } from "node:crypto"
import { UserId } from "../../schema/Ids.ts"
import { MAX_ZONES, type PrivacyZone } from "../../schema/PrivacyZone.ts"
import { textOrNull } from "../../schema/Text.ts"
import { Lanes } from "../admission/Lanes.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { columnsOf, tableOf, writtenOnce } from "../db/Tables.ts"
import { type Overloaded, ZonesFull, ZonesShrink } from "../DomainErrors.ts"
import { type Circle, degrees, destination, EARTH_RADIUS, metresBetween, radians } from "../geometry/Geodesy.ts"
import { Audit } from "../identity/Audit.ts"
import { accountLock } from "../identity/Users.ts"
import { derivedKey } from "../operations/Keys.ts"
import { RouteViews } from "../routes/RouteViews.ts"

/** Radii of zones are raised to one of these (ISO 3, R10), so that a slightly larger zone shows no second circle. */
const RADII = [100, 125, 160, 200, 250, 320, 400, 500, 630, 800, 1000, 1250, 1600, 2000]

const RAISED = 1.28

/** Centres are moved to a cubic grid of this width, in raised radii, as all constants below. */
const GRID = 1 / 8

/** No point is farther than this from the next point of the grid. */
const ROUNDED = GRID * Math.sqrt(3) / 2

/** Zone and cut are this far apart: an attacker who averages many cuts still misses by over a third (decision 0013). */
const MOVED = { least: 0.95, most: 1.2 }

/** The cut's radius is larger by this: otherwise it would show the distance of the centres. */
const LARGER = { least: 0.05, most: 0.25 }

const LEAST_MOVED = MOVED.least - ROUNDED

const MAX_RADII = RAISED * (1 + MOVED.most + ROUNDED + LARGER.most)

/** Numbers are drawn for points at this distance. Circles far from each other are independent. */
const DRAWN_EVERY = 128

/** Numbers are drawn from 0 to this: the fraction of a mean of several is still evenly distributed. */
const DRAWN_TO = 16

const TURN_RADIANS = 2 * Math.PI

const UINT32 = 2 ** 32

interface Point {
  readonly x: number
  readonly y: number
  readonly z: number
}

/** Returns the next point of a grid around the centre of the Earth, where no pole and no antimeridian is special. */
const gridPoint = ([lng, lat]: PrivacyZone["center"], metres: number): Point => {
  const across = Math.cos(radians(lat))
  const rounded = (share: number) => Math.round(share * EARTH_RADIUS / metres)
  return {
    x: rounded(across * Math.cos(radians(lng))),
    y: rounded(across * Math.sin(radians(lng))),
    z: rounded(Math.sin(radians(lat)))
  }
}

const CORNERS: ReadonlyArray<Point> = [0, 1].flatMap((x) => [0, 1].flatMap((y) => [0, 1].map((z) => ({ x, y, z }))))

/** Maps growing numbers from 0 to 1 and back, so that a small change stays small. */
const folded = (number: number) => Math.abs(number % 2 - 1)

/** Returns true if the circle hides the zone as well as a new one would. */
const fits = ({ center: [lng, lat], radius }: PrivacyZone) => (circle: Circle): boolean => {
  const moved = metresBetween(lng, lat, circle.lng, circle.lat)
  return moved >= LEAST_MOVED * radius && moved + radius <= circle.radius && circle.radius <= MAX_RADII * radius
}

/**
 * Returns the circle to cut for a zone, which contains it. A known circle of the user is reused where it fits.
 * Otherwise key, user and place give the circle: a zone that is removed and set again, also some metres beside, has the
 * same one, or one that is moved a little. Two different circles would show where a zone fits both.
 */
export const secretCircles = Config.map(derivedKey("privacy-zones"), (key) => {
  const drawnAt = (...place: ReadonlyArray<number | string>) =>
    DRAWN_TO * createHmac("sha256", key).update(JSON.stringify(place)).digest().readUInt32BE(0) / UINT32

  /** Interpolates between the numbers of the eight points around a place, by its distances from them. */
  const drawn = (owner: UserId, radius: number, what: string, { x, y, z }: Point) =>
    CORNERS.reduce((sum, corner) => {
      const [atX, atY, atZ] = [Math.floor(x) + corner.x, Math.floor(y) + corner.y, Math.floor(z) + corner.z]
      const weight = (1 - Math.abs(x - atX)) * (1 - Math.abs(y - atY)) * (1 - Math.abs(z - atZ))
      return sum + weight * drawnAt(owner, radius, what, atX, atY, atZ)
    }, 0)

  const derived = (owner: UserId, zone: PrivacyZone): Circle => {
    const radius = RADII.find((radius) => radius >= zone.radius) ?? zone.radius
    const { x, y, z } = gridPoint(zone.center, GRID * radius)
    const scale = GRID / DRAWN_EVERY
    const number = (what: string) => drawn(owner, radius, what, { x: x * scale, y: y * scale, z: z * scale })
    const within = ({ least, most }: typeof MOVED, what: string) => least + (most - least) * folded(number(what))
    const moved = within(MOVED, "moved")
    const [lng, lat] = [degrees(Math.atan2(y, x)), degrees(Math.atan2(z, Math.hypot(x, y)))]
    return {
      ...destination(lng, lat, TURN_RADIANS * number("direction"), moved * radius),
      radius: (1 + moved + ROUNDED + within(LARGER, "larger")) * radius
    }
  }
  return (owner: UserId, zone: PrivacyZone, known: ReadonlyArray<Circle>): Circle =>
    known.find(fits(zone)) ?? derived(owner, zone)
})

class ZoneRecord extends Model.Class<ZoneRecord>("ZoneRecord")({
  userId: writtenOnce(UserId),
  position: Schema.Int,
  lng: Schema.Finite,
  lat: Schema.Finite,
  radius: Schema.Finite,
  label: Schema.NullOr(Schema.String),
  cutLng: Schema.Finite,
  cutLat: Schema.Finite,
  cutRadius: Schema.Finite
}) {}

const zonesTable = tableOf("privacy_zones", ZoneRecord)

const ZoneRow = ZoneRecord.select.mapFields(Struct.omit(["userId"]))
type ZoneRow = typeof ZoneRow.Type

type Zones = ReadonlyArray<PrivacyZone>

/** Owners hide these zones from others in all their routes. Only the owner sees the zones. */
export class PrivacyZones extends Context.Service<PrivacyZones, {
  readonly list: (owner: UserId) => Effect.Effect<Zones>
  /** Counts the zones of the account that are not inside one of these. */
  readonly lost: (owner: UserId, zones: Zones) => Effect.Effect<number>
  /**
   * Takes effect on the next read: each route is cut again when it is read, or in the background. Fails with
   * `ZonesShrink` and changes nothing if a zone would not be inside a new one, unless `mayShrink`.
   */
  readonly replace: (
    owner: UserId,
    zones: Zones,
    options: { readonly mayShrink: boolean }
  ) => Effect.Effect<Zones, ZonesShrink | Overloaded>
  /**
   * Adds the zones that the account lacks, and gives the others their new labels if it `renames`. Fails with `ZonesFull`
   * and changes nothing if the account would have too many.
   */
  readonly add: (
    owner: UserId,
    zones: Zones,
    options: { readonly renames: boolean }
  ) => Effect.Effect<void, ZonesFull | Overloaded>
  /** Removes one zone with this centre, the one at `index` if it is that. Changes nothing if there is none. */
  readonly remove: (owner: UserId, index: number, center: PrivacyZone["center"]) => Effect.Effect<void, Overloaded>
}>()("route-planning-service/PrivacyZones") {
  static readonly layer = Layer.effect(
    PrivacyZones,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const circleOf = yield* secretCircles
      const lockAccount = yield* accountLock
      const views = yield* RouteViews
      const { writes } = yield* Lanes

      const find = SqlSchema.findAll({
        Request: UserId,
        Result: ZoneRow,
        execute: (owner) =>
          sql`SELECT ${sql.literal(columnsOf(ZoneRow))} FROM privacy_zones WHERE user_id = ${owner} ORDER BY position`
      })

      // A zone that stays keeps its circle.
      const rowsOf = (owner: UserId, stored: ReadonlyArray<ZoneRow>, zones: Zones) =>
        zones.reduce<ReadonlyArray<ZoneRow>>((rows, zone, position) => {
          const { center: [lng, lat], label, radius } = zone
          const same = stored.find((row) => isSame(zoneIn(row), zone))
          const cut = same === undefined ? circleOf(owner, zone, [...stored, ...rows].map(circleIn)) : circleIn(same)
          const cuts = { cutLng: cut.lng, cutLat: cut.lat, cutRadius: cut.radius }
          return [...rows, { position, lng, lat, radius, label: textOrNull(label) ?? null, ...cuts }]
        }, [])

      const write = Effect.fnUntraced(function*(owner: UserId, stored: ReadonlyArray<ZoneRow>, zones: Zones) {
        const rows = rowsOf(owner, stored, zones)
        if (Equal.equals(rows, stored)) return
        yield* sql`DELETE FROM privacy_zones WHERE user_id = ${owner}`
        yield* Effect.forEach(rows, (row) => zonesTable.insert(sql, { userId: owner, ...row }), { discard: true })
        // A new label, or another order, changes nothing that others see.
        if (textOf(rows) === textOf(stored)) return
        const revision = rows.length === 0 ? sql`NULL` : sql`nextval('zones_revisions')`
        yield* sql`UPDATE users SET zones_revision = ${revision} WHERE id = ${owner}`
      })

      // The account is locked, so that the later of two concurrent changes reuses the circles of the earlier one.
      const changing = <E>(owner: UserId, change: (stored: Zones) => Effect.Effect<Zones, E>) =>
        Effect.gen(function*() {
          yield* lockAccount(owner)
          const stored = yield* find(owner)
          yield* write(owner, stored, yield* change(stored.map(zoneIn)))
          yield* audit.record("privacy_zones.changed", { userId: owner })
          yield* views.refresh(owner)
          return (yield* find(owner)).map(zoneIn)
        }).pipe(
          sql.withTransaction,
          (changed) => writes(owner, changed),
          databaseDefects
        )

      const list = flow(
        (owner: UserId) => Effect.map(find(owner), (rows) => rows.map(zoneIn)),
        Effect.orDie
      )

      return PrivacyZones.of({
        list,

        lost: (owner, zones) => Effect.map(list(owner), (stored) => lostOf(stored, zones)),

        replace: (owner, zones, { mayShrink }) =>
          changing(owner, (stored) => {
            const lost = lostOf(stored, zones)
            return lost === 0 || mayShrink ? Effect.succeed(zones) : Effect.fail(new ZonesShrink({ zones: lost }))
          }),

        add: (owner, zones, { renames }) =>
          changing(owner, (stored) => {
            const kept = stored.map((zone) => renames ? zones.find((other) => isSame(other, zone)) ?? zone : zone)
            const all = [...kept, ...zones.filter((zone) => !stored.some((other) => isSame(other, zone)))]
            return all.length > MAX_ZONES
              ? Effect.fail(new ZonesFull({ limit: MAX_ZONES, used: stored.length }))
              : Effect.succeed(all)
          }).pipe(Effect.asVoid),

        remove: (owner, index, center) =>
          changing(owner, (stored) => {
            const found = stored.findIndex((zone, n) => n === index && isAt(center, zone))
            const removed = found === -1 ? stored.findIndex((zone) => isAt(center, zone)) : found
            return Effect.succeed(stored.filter((_, n) => n !== removed))
          }).pipe(Effect.asVoid)
      })
    })
  )
}

const circleIn = ({ cutLat, cutLng, cutRadius }: ZoneRow): Circle => ({ lng: cutLng, lat: cutLat, radius: cutRadius })

const zoneIn = ({ label, lat, lng, radius }: ZoneRow): PrivacyZone => ({
  center: [lng, lat],
  radius,
  ...(label === null ? {} : { label })
})

const isAt = ([lng, lat]: PrivacyZone["center"], { center }: PrivacyZone) => center[0] === lng && center[1] === lat

const isSame = (one: PrivacyZone, other: PrivacyZone) => one.radius === other.radius && isAt(one.center, other)

const isWithin = (zone: PrivacyZone, other: PrivacyZone) =>
  metresBetween(...zone.center, ...other.center) + zone.radius <= other.radius

const lostOf = (stored: Zones, zones: Zones) =>
  stored.filter((zone) => !zones.some((other) => isWithin(zone, other))).length

const textOf = (rows: ReadonlyArray<ZoneRow>) =>
  [...new Set(rows.map(({ cutLat, cutLng, cutRadius }) => JSON.stringify([cutLng, cutLat, cutRadius])))].toSorted()
    .join()
