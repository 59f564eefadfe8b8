import Fastify from "fastify"
import { Pool } from "pg"

/**
 * The list of `bench/lists.ts` as one would write it without this service: Fastify and pg, one query, its rows parsed and
 * printed. It does less than ours: no session, no total, no links, no tracing.
 */
const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 10 })
const server = Fastify()

server.get<{ Querystring: { user: string; limit: string } }>("/api/v1/routes", async ({ query }) => {
  const { rows } = await pool.query(
    `SELECT r.id, r.user_id, r.name, r.description, r.activity, r.visibility, r.tags, r.favourite, r.waypoints,
       r.geometry, r.distance, r.duration, r.elevation_gain, r.start_address, r.end_address, r.place_city,
       r.place_region, r.place_country_code, r.routing_preferences, r.provenance, r.share_token, r.created_at,
       r.updated_at, u.name AS user_name, u.handle AS user_handle, u.avatar AS user_avatar
     FROM routes r JOIN users u ON u.id = r.user_id
     WHERE r.user_id = $1 AND r.deleted_at IS NULL ORDER BY r.created_at DESC, r.id DESC LIMIT $2`,
    [query.user, query.limit]
  )
  return rows.map((row) =>
    Object.assign(row, { waypoints: JSON.parse(row.waypoints), geometry: JSON.parse(row.geometry) })
  )
})

await server.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) })
