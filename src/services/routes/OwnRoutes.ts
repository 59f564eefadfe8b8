import { Effect, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RouteId, UserId } from "../../schema/Ids.ts"
import { routeVisibility } from "../visibility/Visibility.ts"
import { RouteRecord } from "./RouteRecord.ts"

const OwnRoute = Schema.Struct({ owner: UserId, id: RouteId })

const StoredRow = Schema.Struct({
  version: Schema.Int,
  positions: Schema.Int,
  hasDistance: Schema.Boolean,
  hasLine: Schema.Boolean
})

const StartRow = Schema.Struct({
  hasGeometry: Schema.Boolean,
  waypoints: Schema.fromJsonString(
    Schema.NonEmptyArray(Schema.Struct({ coord: Schema.Tuple([Schema.Finite, Schema.Finite]) }))
  )
})

/** What a change of an owner's route reads of it first. The locks last until the transaction ends. */
export const ownRouteQueries = Effect.map(SqlClient.SqlClient, (sql) => {
  const visibility = routeVisibility(sql)
  return {
    findName: SqlSchema.findOneOption({
      Request: OwnRoute,
      Result: RouteRecord.select.mapFields(Struct.pick(["name"])),
      execute: ({ id, owner }) => sql`SELECT name FROM routes r WHERE r.id = ${id} AND ${visibility.own(owner)}`
    }),

    /** `hasLine`: whether the stored line is the given one. */
    lock: SqlSchema.findOneOption({
      Request: Schema.Struct({ ...OwnRoute.fields, line: Schema.UndefinedOr(Schema.NullOr(Schema.String)) }),
      Result: StoredRow,
      execute: ({ id, line, owner }) =>
        sql`
          SELECT version, position_count AS positions, distance IS NOT NULL AS "hasDistance",
            ${line === undefined ? sql`false` : sql`geometry IS NOT DISTINCT FROM ${line}`} AS "hasLine"
          FROM routes r WHERE r.id = ${id} AND ${visibility.own(owner)} FOR NO KEY UPDATE`
    }),

    lockStart: SqlSchema.findOneOption({
      Request: OwnRoute,
      Result: StartRow,
      execute: ({ id, owner }) =>
        sql`
          SELECT waypoints, coalesce(geometry, '[]') <> '[]' AS "hasGeometry" FROM routes r
          WHERE r.id = ${id} AND ${visibility.own(owner)} FOR NO KEY UPDATE`
    })
  }
})
