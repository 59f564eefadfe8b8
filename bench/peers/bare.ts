import Fastify from "fastify"
import { randomBytes } from "node:crypto"
import { Pool } from "pg"

/** The peer is Fastify and `pg`, one statement a request, the row parsed and printed, without credentials or checks. */
const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 10 })
const server = Fastify({ bodyLimit: 8 * 1024 * 1024 })

interface Row {
  readonly waypoints: string
  readonly geometry: string
}

const parsed = (row: Row) => ({ ...row, waypoints: JSON.parse(row.waypoints), geometry: JSON.parse(row.geometry) })

server.get("/health/live", () => ({ status: "ok" }))

server.get<{ Params: { token: string } }>("/api/v1/routes/:token", async (request, reply) => {
  const { rows } = await pool.query({
    name: "route",
    text: `SELECT r.*, u.name AS user_name, u.handle, u.avatar FROM routes r JOIN users u ON u.id = r.user_id
      WHERE r.share_token = $1`,
    values: [request.params.token]
  })
  const [row] = rows
  return row === undefined ? reply.code(404).send({ statusCode: 404 }) : parsed(row)
})

interface NewRoute {
  readonly name: string
  readonly waypoints: ReadonlyArray<unknown>
  readonly geometry: ReadonlyArray<unknown>
}

server.post<{ Body: NewRoute }>("/api/v1/routes", async (request, reply) => {
  const { geometry, name, waypoints } = request.body
  const { rows } = await pool.query({
    name: "insert",
    text: `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
        created_at, updated_at)
      SELECT id, $1, 'private', '{}', false, $2, $3, 'routing-engine', $4, now(), now() FROM users ORDER BY id LIMIT 1
      RETURNING *`,
    values: [name, JSON.stringify(waypoints), JSON.stringify(geometry), randomBytes(16).toString("hex")]
  })
  return reply.code(201).send(parsed(rows[0]))
})

await server.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) })
