import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import type { Position } from "../../schema/Geometry.ts"
import { RouteId, UserId } from "../../schema/Ids.ts"
import { Maneuvers } from "../../schema/Maneuver.ts"
import { type NewRoute, Waypoint } from "../../schema/Route.ts"
import { PIECE_LENGTH } from "../files/FileValues.ts"
import { type MeasuredPolyline, positionsOf } from "../geometry/MeasuredPolyline.ts"
import { routeVisibility } from "../sharing/Visibility.ts"

export const waypointText = (waypoints: ReadonlyArray<Waypoint>) =>
  JSON.stringify(waypoints.map(({ coord, name, timestamp, type }) => ({
    coord,
    ...(type === null ? {} : { type }),
    ...(name === null ? {} : { name }),
    ...(timestamp === null ? {} : { timestamp })
  })))

export const cueText = (cues: NewRoute["cues"]) => cues?.length ? JSON.stringify(cues) : null

export const readWaypoints = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Waypoint)))

export const readCues = Schema.decodeSync(Schema.fromJsonString(Maneuvers))

function* piecesOf(text: string): Generator<string> {
  const end = text.length - 1
  if (!text.startsWith("[[") || !text.endsWith("]]")) return yield text
  for (let start = 1; start < end;) {
    const next = text.indexOf("],[", start + PIECE_LENGTH)
    const last = next === -1 ? end : next + 1
    yield `[${text.slice(start, last)}]`
    start = last + 1
  }
}

/** Works as `positionsOf`, in pieces that yield to the event loop: 8 MiB at once would block it for 100 ms. */
export const readLine = Effect.fnUntraced(function*(text: string) {
  const line: Array<Position> = []
  for (const piece of piecesOf(text)) {
    for (const position of positionsOf(piece)) line.push(position)
    yield* Effect.yieldNow
  }
  return line
})

const LineDigest = Schema.Struct({ positions: Schema.Int, bytes: Schema.Int, digest: Schema.String })
export type LineDigest = typeof LineDigest.Type

/** Returns a digest of the positions, rounded to 1e-6 degrees. */
export const lineDigest = ({ polyline6, positionCount }: MeasuredPolyline): LineDigest => ({
  positions: positionCount,
  bytes: Buffer.byteLength(polyline6),
  digest: createHash("md5").update(polyline6).digest("hex")
})

/** Finds the oldest own live route with the same positions for each line, up to the id `upTo` and without `except`. */
export const sameLines = Effect.map(SqlClient.SqlClient, (sql) => {
  const visibility = routeVisibility(sql)
  return SqlSchema.findAll({
    Request: Schema.Struct({
      owner: UserId,
      lines: Schema.Array(Schema.Struct({ index: Schema.Int, ...LineDigest.fields })),
      upTo: Schema.Finite,
      except: Schema.Array(RouteId)
    }),
    Result: Schema.Struct({ index: Schema.Int, routeId: RouteId }),
    // The lengths decide before a polyline is read: it is stored apart from the row.
    execute: ({ except, lines, owner, upTo }) =>
      sql`
        SELECT l.index, min(r.id) AS "routeId"
        FROM json_to_recordset(${JSON.stringify(lines)}::json) AS l (index int, positions int, bytes int, digest text)
          JOIN routes r ON r.position_count = l.positions AND CASE
            WHEN octet_length(r.polyline6) = l.bytes THEN md5(r.polyline6) = l.digest ELSE false END
        WHERE ${visibility.own(owner)} AND r.position_count > 0 AND r.id <= ${upTo}
          AND r.id <> ALL(${[...except]}::bigint[])
        GROUP BY l.index ORDER BY l.index`
  })
})
