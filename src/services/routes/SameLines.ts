import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import { RouteId, UserId } from "../../schema/Ids.ts"
import type { MeasuredPolyline } from "../geometry/MeasuredPolyline.ts"
import { routeVisibility } from "../visibility/Visibility.ts"

const LineDigest = Schema.Struct({ positions: Schema.Int, bytes: Schema.Int, digest: Schema.String })
export type LineDigest = typeof LineDigest.Type

/** Of the positions, rounded to 1e-6 degrees. */
export const digestOf = ({ polyline6, positionCount }: MeasuredPolyline): LineDigest => ({
  positions: positionCount,
  bytes: Buffer.byteLength(polyline6),
  digest: createHash("md5").update(polyline6).digest("hex")
})

/** The oldest own live route with the same positions for each line that has one, among those with an id up to `upTo`. */
export const sameLines = Effect.map(SqlClient.SqlClient, (sql) => {
  const visibility = routeVisibility(sql)
  return SqlSchema.findAll({
    Request: Schema.Struct({
      owner: UserId,
      lines: Schema.Array(Schema.Struct({ index: Schema.Int, ...LineDigest.fields })),
      upTo: Schema.Finite
    }),
    Result: Schema.Struct({ index: Schema.Int, routeId: RouteId }),
    // The lengths decide before a polyline is read: it is stored apart from the row.
    execute: ({ lines, owner, upTo }) =>
      sql`
        SELECT l.index, min(r.id) AS "routeId"
        FROM json_to_recordset(${JSON.stringify(lines)}::json) AS l (index int, positions int, bytes int, digest text)
          JOIN routes r ON r.position_count = l.positions AND CASE
            WHEN octet_length(r.polyline6) = l.bytes THEN md5(r.polyline6) = l.digest ELSE false END
        WHERE ${visibility.own(owner)} AND r.position_count > 0 AND r.id <= ${upTo}
        GROUP BY l.index ORDER BY l.index`
  })
})
