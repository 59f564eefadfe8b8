import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import type { Position } from "../../schema/Geometry.ts"
import { RouteId, UserId } from "../../schema/Ids.ts"
import { Maneuvers } from "../../schema/Maneuver.ts"
import { type NewRoute, Waypoint } from "../../schema/Route.ts"
import { bigints } from "../db/Tables.ts"
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

const RouteDigest = Schema.Struct({ positions: Schema.Int, bytes: Schema.Int, digest: Schema.String })
export type RouteDigest = typeof RouteDigest.Type

const digestOf = (positions: number, text: string, name = ""): RouteDigest => ({
  positions,
  bytes: Buffer.byteLength(text),
  digest: createHash("md5").update(name).update(text).digest("hex")
})

/** Returns a digest of the positions, rounded to 1e-6 degrees. */
export const lineDigest = ({ polyline6, positionCount }: MeasuredPolyline): RouteDigest =>
  digestOf(positionCount, polyline6)

/** Returns a digest of the line, or without one of the name and the waypoints. */
export const routeDigest = (
  { geometry, name, waypoints }: Pick<NewRoute, "name" | "waypoints"> & {
    readonly geometry: MeasuredPolyline | null | undefined
  }
): RouteDigest => geometry?.positionCount ? lineDigest(geometry) : digestOf(0, waypointText(waypoints), name)

/** Finds the oldest own live route with the same digest for each one, up to the id `upTo` and without `except`. */
export const sameRoutes = Effect.map(SqlClient.SqlClient, (sql) => {
  const visibility = routeVisibility(sql)
  return SqlSchema.findAll({
    Request: Schema.Struct({
      owner: UserId,
      digests: Schema.Array(Schema.Struct({ index: Schema.Int, ...RouteDigest.fields })),
      upTo: Schema.Finite,
      except: Schema.Array(RouteId)
    }),
    Result: Schema.Struct({ index: Schema.Int, routeId: RouteId }),
    // The lengths decide before a polyline is read: it is stored apart from the row. Each route is digested once.
    execute: ({ digests, except, owner, upTo }) =>
      sql`
        WITH d AS MATERIALIZED (
          SELECT * FROM json_to_recordset(${JSON.stringify(digests)}::json)
            AS d (index int, positions int, bytes int, digest text)
        ), own AS MATERIALIZED (
          SELECT r.id, r.position_count,
            CASE WHEN r.position_count > 0 THEN md5(r.polyline6) ELSE md5(r.name || r.waypoints) END AS digest
          FROM routes r
          WHERE ${visibility.own(owner)} AND r.id <= ${upTo} AND r.id <> ALL(${bigints(except)}::bigint[]) AND (
            r.position_count, octet_length(CASE WHEN r.position_count > 0 THEN r.polyline6 ELSE r.waypoints END)
          ) IN (SELECT positions, bytes FROM d)
        )
        SELECT d.index, min(own.id) AS "routeId" FROM d
          JOIN own ON own.position_count = d.positions AND own.digest = d.digest
        GROUP BY d.index ORDER BY d.index`
  })
})
