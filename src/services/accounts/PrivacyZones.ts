import { Context, Effect, Layer, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import { MAX_ZONES, type PrivacyZone } from "../../schema/PrivacyZone.ts"
import { textOrNull } from "../../schema/Text.ts"
import { Audit } from "../audit/Audit.ts"
import { ZonesFull, ZonesShrink } from "../DomainErrors.ts"
import type { Circle } from "../geometry/Circles.ts"
import { metresBetween } from "../geometry/Geodesy.ts"
import { accountLock } from "../identity/AccountLock.ts"
import { RouteViews } from "../routes/RouteViews.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { columnsOf, tableOf, writtenOnce } from "../sql/Tables.ts"
import { traced } from "../tracing/Traced.ts"
import { secretCircles } from "./SecretCircles.ts"

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

/** What an owner hides from others in all their routes. Only the owner sees the zones. */
export class PrivacyZones extends Context.Service<PrivacyZones, {
  readonly list: (owner: UserId) => Effect.Effect<Zones>
  /**
   * Takes effect on the next read: each route is cut again when it is read, or in the background. `ZonesShrink`, which
   * changes nothing, where a zone would not be in one of the new ones, unless `mayShrink`.
   */
  readonly replace: (
    owner: UserId,
    zones: Zones,
    options: { readonly mayShrink: boolean }
  ) => Effect.Effect<Zones, ZonesShrink>
  /** Adds those that the account lacks. `ZonesFull`, which changes nothing, where it would have too many. */
  readonly add: (owner: UserId, zones: Zones) => Effect.Effect<void, ZonesFull>
}>()("route-planning-service/PrivacyZones") {
  static readonly layer = Layer.effect(
    PrivacyZones,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const circleOf = yield* secretCircles
      const lockAccount = yield* accountLock
      const views = yield* RouteViews

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
        yield* sql`DELETE FROM privacy_zones WHERE user_id = ${owner}`
        yield* Effect.forEach(rows, (row) => zonesTable.insert(sql, { userId: owner, ...row }), { discard: true })
        // A new label, or another order, changes nothing that others see.
        if (textOf(rows) === textOf(stored)) return
        const revision = rows.length === 0 ? sql`NULL` : sql`nextval('zones_revisions')`
        yield* sql`UPDATE users SET zones_revision = ${revision} WHERE id = ${owner}`
      })

      // Locked, so that of two concurrent changes the later reuses the circles of the earlier.
      const changing = <E>(owner: UserId, change: (stored: Zones) => Effect.Effect<Zones, E>) =>
        Effect.gen(function*() {
          yield* lockAccount(owner)
          const stored = yield* find(owner)
          yield* write(owner, stored, yield* change(stored.map(zoneIn)))
          yield* audit.record("privacy_zones.changed", { userId: owner })
          return (yield* find(owner)).map(zoneIn)
        }).pipe(sql.withTransaction, Effect.tap(() => views.refresh(owner)), databaseDefects)

      const list = traced("PrivacyZones.list")(
        (owner: UserId) => Effect.map(find(owner), (rows) => rows.map(zoneIn)),
        Effect.orDie
      )

      return PrivacyZones.of({
        list,

        replace: traced("PrivacyZones.replace")((owner, zones, { mayShrink }) =>
          changing(owner, (stored) => {
            const lost = stored.filter((zone) => !zones.some((other) => isWithin(zone, other))).length
            return lost === 0 || mayShrink ? Effect.succeed(zones) : Effect.fail(new ZonesShrink({ zones: lost }))
          })
        ),

        add: traced("PrivacyZones.add")((owner, zones) =>
          changing(owner, (stored) => {
            const all = [...stored, ...zones.filter((zone) => !stored.some((other) => isSame(other, zone)))]
            return all.length > MAX_ZONES
              ? Effect.fail(new ZonesFull({ limit: MAX_ZONES, used: stored.length }))
              : Effect.succeed(all)
          }).pipe(Effect.asVoid)
        )
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

const isSame = (one: PrivacyZone, other: PrivacyZone) =>
  one.radius === other.radius && one.center[0] === other.center[0] && one.center[1] === other.center[1]

const isWithin = (zone: PrivacyZone, other: PrivacyZone) =>
  metresBetween(...zone.center, ...other.center) + zone.radius <= other.radius

const textOf = (rows: ReadonlyArray<ZoneRow>) =>
  [...new Set(rows.map(({ cutLat, cutLng, cutRadius }) => JSON.stringify([cutLng, cutLat, cutRadius])))].toSorted()
    .join()
