import { DateTime, Effect, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { UserId } from "../../schema/Ids.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { WriterTurns } from "../limits/WriterTurns.ts"
import { Places } from "../places/Places.ts"
import { columnsOf } from "../sql/Tables.ts"
import { shareTokens } from "../visibility/ShareTokens.ts"
import { lineOf, placeValues, requireOnLine, type RouteDraft, startOf, valuesWithoutPlace } from "./RouteColumns.ts"
import { RouteRecord, routesTable } from "./RouteRecord.ts"
import { OWNER_COLUMNS, OwnerColumns, toStoredRoute } from "./RouteRows.ts"
import { refreshShown, RouteViews } from "./RouteViews.ts"

/** What only the database knows of a new route, and preferences as they are read. */
const AddedColumns = RouteRecord.select.mapFields(Struct.pick(["id", "version", "routingPreferences"]))

/** Stores a new route in a turn of its account (`WriterTurns`). */
export const newRoutes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const makeToken = yield* shareTokens
  const places = yield* Places
  const views = yield* RouteViews
  const pseudonyms = yield* Pseudonyms
  const writers = yield* WriterTurns
  const columns = sql.literal(`${columnsOf(AddedColumns, "r")}, ${OWNER_COLUMNS}`)

  const insert = SqlSchema.findOne({
    Request: Schema.toType(RouteRecord.insert),
    Result: Schema.Struct({ ...AddedColumns.fields, ...OwnerColumns }),
    execute: (row) =>
      sql`
        WITH r AS (${routesTable.insert(sql, row)} RETURNING *)
        SELECT ${columns} FROM r JOIN users u ON u.id = r.user_id`
  })

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
    const added = yield* writers.run(owner, insert(values))
    const instant = now.toISOString()
    const row = { ...values, ...added, createdAt: instant, updatedAt: instant, polyline6: null }
    yield* refreshShown(views, row)
    return toStoredRoute(row, pseudonyms)
  })
})
