import Fastify from "fastify"
import { Pool } from "pg"

/**
 * What one would write without this service: Fastify and pg, one query, the row parsed and printed. It does less than
 * ours: no visibility, no credentials, no tracing.
 */
const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 10 })
const server = Fastify()

server.get<{ Params: { id: string } }>("/api/v1/routes/:id", async (request, reply) => {
  const { rows } = await pool.query(
    `SELECT r.*, u.name AS user_name, u.handle, u.avatar FROM routes r JOIN users u ON u.id = r.user_id WHERE r.id = $1`,
    [request.params.id]
  )
  const [row] = rows
  if (row === undefined) return reply.code(404).send({ statusCode: 404 })
  return { ...row, waypoints: JSON.parse(row.waypoints), geometry: JSON.parse(row.geometry) }
})

await server.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) })
