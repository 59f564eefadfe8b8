import Fastify from "fastify"
import { randomBytes } from "node:crypto"
import { Pool } from "pg"

/**
 * What one would write without this service: Fastify and pg, one query, the row parsed and printed, a body that a JSON
 * schema has looked at. It does less than ours: no visibility, no credentials, no place, no simplified line.
 */
const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 10 })
const server = Fastify()

interface Row {
  readonly waypoints: string
  readonly geometry: string
}

const parsed = (row: Row) => ({ ...row, waypoints: JSON.parse(row.waypoints), geometry: JSON.parse(row.geometry) })

server.get<{ Params: { id: string } }>("/api/v1/routes/:id", async (request, reply) => {
  const { rows } = await pool.query(
    `SELECT r.*, u.name AS user_name, u.handle, u.avatar FROM routes r JOIN users u ON u.id = r.user_id WHERE r.id = $1`,
    [request.params.id]
  )
  const [row] = rows
  if (row === undefined) return reply.code(404).send({ statusCode: 404 })
  return parsed(row)
})

const body = {
  type: "object",
  required: ["name", "waypoints"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 255 },
    waypoints: { type: "array", minItems: 1, items: { type: "object" } },
    geometry: { type: "array", items: { type: "array", minItems: 2, items: { type: "number" } } }
  }
}

interface NewRoute {
  readonly name: string
  readonly waypoints: ReadonlyArray<unknown>
  readonly geometry: ReadonlyArray<unknown>
}

server.post<{ Body: NewRoute }>("/api/v1/routes", { schema: { body } }, async (request, reply) => {
  const { geometry, name, waypoints } = request.body
  const { rows } = await pool.query(
    `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
       created_at, updated_at)
     SELECT id, $1, 'private', '{}', false, $2, $3, 'routing-engine', $4, now(), now() FROM users ORDER BY id LIMIT 1
     RETURNING *`,
    [name, JSON.stringify(waypoints), JSON.stringify(geometry), randomBytes(16).toString("hex")]
  )
  return reply.code(201).send(parsed(rows[0]))
})

await server.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) })
