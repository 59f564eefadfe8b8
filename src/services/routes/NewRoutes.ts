import { type Array as Arr, type Context, DateTime, Effect, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { gatheredWrites } from "../limits/GatheredWrites.ts"
import { WriterTurns } from "../limits/WriterTurns.ts"
import { Places } from "../places/Places.ts"
import { standsAlone } from "../sql/GatheredReads.ts"
import { columnsOf } from "../sql/Tables.ts"
import { shareTokens } from "../visibility/ShareTokens.ts"
import { lineOf, placeValues, requireOnLine, type RouteDraft, startOf, valuesWithoutPlace } from "./RouteColumns.ts"
import { type NewRouteRow, RouteRecord, routesTable } from "./RouteRecord.ts"
import { OWNER_COLUMNS, OwnerColumns, toStoredRoute } from "./RouteRows.ts"
import { refreshShown, RouteViews } from "./RouteViews.ts"

/** What only the database knows of a new route, and preferences as they are read. */
const AddedColumns = RouteRecord.select.mapFields(Struct.pick(["id", "version", "shareToken", "routingPreferences"]))

const AddedRow = Schema.Struct({ ...AddedColumns.fields, ...OwnerColumns })

const decodeAdded = Schema.decodeUnknownEffect(Schema.Array(AddedRow))

/** In characters: a longer row is a statement of its own, which keeps no others waiting. */
const LONG = 256 * 1024

const lengthOf = ({ geometry, waypoints }: NewRouteRow) => (geometry?.length ?? 0) + waypoints.length

/** Stores a new route in a turn of its account (`WriterTurns`), which others that wait for one may share. */
export const newRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const makeToken = yield* shareTokens
  const places = yield* Places
  const views = yield* RouteViews
  const pseudonyms = yield* Pseudonyms
  const turns = yield* WriterTurns
  const gathered = yield* gatheredWrites
  const isAlone = standsAlone(sql)
  const columns = sql.literal(`${columnsOf(AddedColumns, "r")}, ${OWNER_COLUMNS}`)

  /** Returns them in the same order. */
  const insertAll = Effect.fnUntraced(function*(rows: Arr.NonEmptyReadonlyArray<NewRouteRow>) {
    const stored = yield* Effect.flatMap(
      sql`
        WITH r AS (${routesTable.insertAll(sql, rows)} RETURNING *)
        SELECT ${columns} FROM r JOIN users u ON u.id = r.user_id`,
      decodeAdded
    )
    return yield* Effect.forEach(
      rows,
      ({ shareToken }) => Effect.fromNullishOr(stored.find((row) => row.shareToken === shareToken))
    )
  })

  const insert = (row: NewRouteRow) => Effect.map(insertAll([row]), ([added]) => added)

  const insertGathered = gathered(insertAll)

  const insertInTurn = (row: NewRouteRow) =>
    Effect.contextWith((context: Context.Context<never>) =>
      lengthOf(row) > LONG || isAlone(context) ? turns.run(row.userId, insert(row)) : insertGathered(row.userId, row)
    )

  return Effect.fnUntraced(function*(owner: UserId, route: RouteDraft) {
    const now = yield* DateTime.nowAsDate
    const line = lineOf(route.geometry)
    yield* requireOnLine(route.cues, line?.positionCount ?? 0)
    const values = {
      ...valuesWithoutPlace(route, line),
      ...placeValues(yield* places.at(startOf(line, route.waypoints))),
      userId: owner,
      shareToken: yield* makeToken,
      importedFrom: null,
      publishedAt: route.visibility === "public" ? now : null,
      createdAt: now,
      updatedAt: now
    }
    const added = yield* insertInTurn(values)
    const instant = now.toISOString()
    const row = { ...values, ...added, createdAt: instant, updatedAt: instant, polyline6: null }
    yield* refreshShown(views, row)
    return toStoredRoute(row, pseudonyms)
  })
})
