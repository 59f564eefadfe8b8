import { Config, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RouteId } from "../../schema/Ids.ts"
import { nothingSwept, overdue, runSweep, scheduled, sweepUntilShort, type Swept } from "../db/Sweeps.ts"
import { Places, PLACES_VERSION } from "../geometry/Places.ts"
import { placeValues } from "./RouteRow.ts"

const BATCH = 100

const PAUSE = Duration.millis(100)

const START_CHARACTERS = 200

const START = Schema.Tuple([Schema.Finite, Schema.Finite])

const decodeStart = Schema.decodeUnknownOption(Schema.fromJsonString(START))

const decodeWaypoints = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.NonEmptyArray(Schema.Struct({ coord: START })))
)

const StartRow = Schema.Struct({
  id: RouteId,
  start: Schema.NullOr(Schema.String),
  waypoints: Schema.NullOr(Schema.String)
})

type DerivedPlace = ReturnType<typeof placeValues> & { readonly id: RouteId }

const startOfRow = ({ start, waypoints }: typeof StartRow.Type) =>
  waypoints === null
    ? decodeStart(start)
    : Option.map(decodeWaypoints(waypoints), ([{ coord }]) => coord)

export class PlaceSweep extends Context.Service<PlaceSweep, {
  /**
   * Derives the places of routes of earlier versions, 100 per transaction, without those that another process has
   * locked: a crash loses at most one batch. `version` and `updated_at` stay, as this is no edit. Does nothing without
   * cities.
   */
  readonly deriveDue: Effect.Effect<Swept>
  readonly isDue: Effect.Effect<boolean>
}>()("route-planning-service/PlaceSweep") {
  static readonly layer = Layer.effect(
    PlaceSweep,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const places = yield* Places

      const takeBatch = SqlSchema.findAll({
        Request: Schema.Void,
        Result: StartRow,
        execute: () =>
          sql`
            SELECT id,
              '[' || substring(left(geometry, ${START_CHARACTERS}) from '^\\[\\[([^],]+,[^],]+)') || ']' AS start,
              CASE WHEN coalesce(geometry, '[]') = '[]' THEN waypoints END AS waypoints
            FROM routes WHERE place_version < ${PLACES_VERSION}
            ORDER BY place_version, id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`
      })

      const store = (rows: ReadonlyArray<DerivedPlace>) =>
        sql`
          UPDATE routes r SET place_city = d."placeCity", place_region = d."placeRegion",
            place_country_code = d."placeCountryCode", place_version = d."placeVersion"
          FROM json_to_recordset(${JSON.stringify(rows)}::json) AS d (
            id bigint, "placeCity" text, "placeRegion" text, "placeCountryCode" text, "placeVersion" smallint
          ) WHERE r.id = d.id`

      const skip = (ids: ReadonlyArray<number>) =>
        sql`UPDATE routes SET place_version = ${PLACES_VERSION} WHERE ${sql.in("id", ids)}`

      const deriveBatch = Effect.fnUntraced(
        function*() {
          const rows = (yield* takeBatch()).map((row) => ({ id: row.id, start: startOfRow(row) }))
          const derived = yield* Effect.forEach(
            rows.flatMap(({ id, start }) => Option.isSome(start) ? [{ id, position: start.value }] : []),
            ({ id, position }) =>
              Effect.yieldNow.pipe(
                Effect.andThen(places.at(position)),
                Effect.map((place) => ({ id, ...placeValues(place) }))
              )
          )
          if (derived.length > 0) yield* store(derived)
          const unreadable = rows.filter(({ start }) => Option.isNone(start)).map(({ id }) => id)
          if (unreadable.length > 0) yield* skip(unreadable)
          return { rows: rows.length, lagMillis: 0 }
        },
        sql.withTransaction,
        Effect.uninterruptible
      )

      const deriveAll = sweepUntilShort(Effect.suspend(deriveBatch), BATCH, Effect.sleep(PAUSE))

      const isDue = Effect.map(
        sql`SELECT FROM routes WHERE place_version < ${PLACES_VERSION} LIMIT 1`,
        (rows) => rows.length > 0
      )

      return PlaceSweep.of({
        deriveDue: Effect.flatMap(places.hasCities, (hasCities) => hasCities ? deriveAll : Effect.succeed(nothingSwept))
          .pipe(Effect.orDie),
        isDue: Effect.orDie(isDue)
      })
    })
  )
}

/** During a deployment, processes of an earlier version add routes that are due. */
const LONGEST_SLEEP = Duration.hours(1)

export const placeSweepLayer = Layer.effectDiscard(Effect.gen(function*() {
  const { hasCities } = yield* Places
  const { deriveDue, isDue } = yield* PlaceSweep
  const sweeping = scheduled({
    longestSleep: Config.succeed(LONGEST_SLEEP),
    run: runSweep("places", deriveDue),
    earliestDue: overdue(isDue)
  })
  // Startup does not wait for the cities.
  yield* Effect.forkScoped(Effect.flatMap(hasCities, (found) => found ? sweeping : Effect.void))
}))
