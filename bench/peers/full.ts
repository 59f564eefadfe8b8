import cookie from "@fastify/cookie"
import cors from "@fastify/cors"
import etag from "@fastify/etag"
import helmet from "@fastify/helmet"
import jwt from "@fastify/jwt"
import rateLimit from "@fastify/rate-limit"
import polylines from "@mapbox/polyline"
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify"
import { distance as kilometres } from "geokdbush"
import { createHmac, randomBytes } from "node:crypto"
import { Pool } from "pg"
import { collectDefaultMetrics, Histogram } from "prom-client"
import simplify from "simplify-js"

type Position = readonly [number, number] | readonly [number, number, number]

const spanOf = (values: ReadonlyArray<number>) =>
  [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))] as const

/** Derives what the service stores beside a line, by libraries: its length, 200 positions, encoded polyline and box. */
const derived = (positions: ReadonlyArray<Position>) => {
  const points = positions.map(([x, y]) => ({ x, y }))
  const [west, east] = spanOf(points.map(({ x }) => x))
  const [south, north] = spanOf(points.map(({ y }) => y))
  const tolerance = Math.max(east - west, north - south) / 1000
  const lengths = points.map(({ x, y }, index) => {
    const previous = points[index - 1]
    return previous === undefined ? 0 : 1000 * kilometres(previous.x, previous.y, x, y)
  })
  return [
    lengths.reduce((sum, length) => sum + length, 0),
    JSON.stringify(simplify(points, tolerance).map(({ x, y }) => [x, y])),
    polylines.encode(points.map(({ x, y }) => [y, x]), 6),
    `(${east},${north}),(${west},${south})`
  ]
}

/**
 * The peer does the same job with Fastify and its usual plugins: security headers, CORS, a session row behind a JWT whose
 * cookie is renewed by each response, tokens, rate limits (never reached), entity tags, a log line and a histogram a
 * request, and rows as objects that are parsed and printed. It has no tracing, no places and no error shape of its own.
 */
const pool = new Pool({ connectionString: process.env["DATABASE_URL"], max: 10 })
const secret = process.env["JWT_SECRET"] ?? ""
const pepper = process.env["PAT_PEPPER"] ?? ""
const server = Fastify({
  logger: { level: "info" },
  ajv: { customOptions: { strictTuples: false } },
  bodyLimit: 8 * 1024 * 1024
})

await server.register(helmet)
await server.register(cors, { origin: ["https://example.com"], credentials: true })
await server.register(cookie)
await server.register(jwt, { secret, sign: { expiresIn: "15m" } })
await server.register(rateLimit, { max: 1_000_000_000, timeWindow: "1 minute" })
await server.register(etag)

collectDefaultMetrics()
const durations = new Histogram({
  name: "http_request_duration_seconds",
  help: "Duration of requests",
  labelNames: ["method", "route", "status"]
})

server.addHook("onResponse", (request, reply, done) => {
  durations
    .labels(request.method, request.routeOptions.url ?? "", String(reply.statusCode))
    .observe(reply.elapsedTime / 1000)
  done()
})

interface Claims {
  readonly sub: string
  readonly sid: string
}

const findSession = {
  name: "session",
  text: `SELECT s.id AS sid, u.id, u.email, u.name, u.handle, u.avatar, u.preferences, u.created_at, s.last_seen_at
    FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1 AND s.expires_at > now()
    AND s.revoked_at IS NULL`
}

const findToken = {
  name: "token",
  text: `SELECT t.id AS token_id, t.scope, u.* FROM personal_access_tokens t JOIN users u ON u.id = t.user_id
    WHERE t.token_hash = $1 AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.deletion_requested_at IS NULL`
}

const refused = (statusCode: number, code: string) => Object.assign(new Error(code), { statusCode, code })

/** Returns the account of the request, if it has credentials, and renews a session's cookie. */
const accountOf = async (request: FastifyRequest, reply: FastifyReply) => {
  const { authorization } = request.headers
  if (authorization?.startsWith("Bearer service_pat_") === true) {
    const hash = createHmac("sha256", pepper).update(authorization.slice("Bearer ".length)).digest("base64url")
    return (await pool.query({ ...findToken, values: [hash] })).rows[0]
  }
  if (authorization === undefined && request.cookies["session"] === undefined) return undefined
  const claims = await request.jwtVerify<Claims>()
  const account = (await pool.query({ ...findSession, values: [claims.sid] })).rows[0]
  if (account === undefined) throw refused(401, "UNAUTHORIZED")
  const fresh = server.jwt.sign({ sub: claims.sub, sid: claims.sid })
  const cookie = { httpOnly: true, secure: true, sameSite: "lax", path: "/", maxAge: 900 } as const
  reply.header("x-access-token", fresh).setCookie("session", fresh, cookie)
  return account
}

const signedIn = async (request: FastifyRequest, reply: FastifyReply) => {
  const account = await accountOf(request, reply)
  if (account === undefined) throw refused(401, "UNAUTHORIZED")
  return account
}

interface Row {
  readonly user_id: string
  readonly visibility: string
  readonly waypoints: string
  readonly geometry?: string | null
}

const columns =
  `r.id, r.user_id, r.name, r.description, r.activity, r.visibility, r.tags, r.favourite, r.waypoints, r.geometry,
  r.distance, r.duration, r.elevation_gain, r.start_address, r.end_address, r.place_city, r.place_region,
  r.place_country_code, r.routing_preferences, r.provenance, r.share_token, r.created_at, r.updated_at, r.version,
  u.name AS user_name, u.handle AS user_handle, u.avatar AS user_avatar`

const parsed = (row: Row) => ({
  ...row,
  waypoints: JSON.parse(row.waypoints),
  geometry: typeof row.geometry === "string" ? JSON.parse(row.geometry) : undefined
})

const isToken = (ref: string) => /^[0-9a-f]{32}$/.test(ref)

server.get("/health/live", () => ({ status: "ok" }))

server.get<{ Params: { ref: string } }>("/api/v1/routes/:ref", async (request, reply) => {
  const { ref } = request.params
  const account = await accountOf(request, reply)
  const column = isToken(ref) ? "share_token" : "id"
  const { rows } = await pool.query<Row>({
    name: `route by ${column}`,
    text: `SELECT ${columns} FROM routes r JOIN users u ON u.id = r.user_id
      WHERE r.${column} = $1 AND r.deleted_at IS NULL AND u.deletion_requested_at IS NULL`,
    values: [ref]
  })
  const [row] = rows
  const isVisible = row !== undefined
    && (row.user_id === account?.id || row.visibility === "public" || (row.visibility === "unlisted" && isToken(ref)))
  if (!isVisible) throw refused(404, "NOT_FOUND")
  return parsed(row)
})

// The counters are kept by the triggers of the service: a usual peer would count the routes.
const findUsage = {
  name: "usage",
  text:
    `SELECT r.live_routes AS total_routes, r.live_distance AS total_distance, r.routes, r.stored_bytes, c.collections,
      l.max_routes, l.max_stored_bytes, l.max_collections
    FROM route_usage r JOIN collection_usage c USING (user_id) CROSS JOIN usage_limits l WHERE user_id = $1`
}

server.get("/api/v1/users/me", async (request, reply) => {
  const account = await signedIn(request, reply)
  const { rows } = await pool.query({ ...findUsage, values: [account.id] })
  const [{ total_distance, total_routes, ...usage }] = rows
  return { ...account, statistics: { total_routes, total_distance }, usage }
})

const query = (properties: object) => ({
  schema: {
    querystring: {
      type: "object",
      properties: { limit: { type: "integer", minimum: 1, maximum: 100 }, geometry: { type: "string" }, ...properties }
    }
  }
})

interface List {
  readonly limit: number
  readonly geometry?: string
}

/** Returns a page of the routes that a condition admits, and the number of all. */
const list = async (reply: FastifyReply, { geometry, limit }: List, where: string, values: ReadonlyArray<unknown>) => {
  const shown = geometry === "none" ? columns.replace(" r.geometry,", "") : columns
  const [total, page] = await Promise.all([
    pool.query({
      name: `count ${where}`,
      text: `SELECT count(*) FROM routes r WHERE ${where} AND r.deleted_at IS NULL`,
      values: [...values]
    }),
    pool.query<Row>({
      name: `list ${geometry} ${where}`,
      text: `SELECT ${shown} FROM routes r JOIN users u ON u.id = r.user_id
        WHERE ${where} AND r.deleted_at IS NULL ORDER BY r.created_at DESC, r.id DESC LIMIT $${values.length + 1}`,
      values: [...values, limit]
    })
  ])
  reply.header("x-total-count", total.rows[0].count).header("link", `</api/v1/routes?limit=${limit}>; rel="first"`)
  return page.rows.map(parsed)
}

server.get<{ Querystring: List & { readonly q?: string } }>(
  "/api/v1/routes",
  query({ q: { type: "string" } }),
  async (request, reply) => {
    const account = await signedIn(request, reply)
    const { q } = request.query
    return q === undefined
      ? list(reply, request.query, "r.user_id = $1", [account.id])
      : list(reply, request.query, "r.user_id = $1 AND r.name ILIKE $2", [account.id, `%${q}%`])
  }
)

server.get<{ Querystring: List & { readonly bbox: string } }>(
  "/api/v1/routes/public",
  query({ bbox: { type: "string", pattern: "^[-0-9.]+(,[-0-9.]+){3}$" } }),
  (request, reply) => {
    const [west, south, east, north] = request.query.bbox.split(",")
    const box = `(${east},${north}),(${west},${south})`
    return list(reply, request.query, "r.visibility = 'public' AND r.bounds && $1::box", [box])
  }
)

/** A position may have an elevation if `more` has its schema. */
const position = (...more: ReadonlyArray<object>) => ({
  type: "array",
  items: [180, 90].map((most): object => ({ type: "number", minimum: -most, maximum: most })).concat(more),
  minItems: 2,
  maxItems: 2 + more.length,
  additionalItems: false
})

const waypoint = { type: "object", required: ["coord"], properties: { coord: position() } }

const newRoute = {
  type: "object",
  required: ["name", "waypoints"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 255 },
    visibility: { type: "string", enum: ["private", "unlisted", "public"] },
    waypoints: { type: "array", minItems: 1, maxItems: 1000, items: waypoint },
    geometry: { type: "array", maxItems: 100_000, items: position({ type: "number" }) }
  }
}

interface NewRoute {
  readonly name: string
  readonly visibility?: string
  readonly waypoints: ReadonlyArray<unknown>
  readonly geometry: ReadonlyArray<Position>
}

server.post<{ Body: NewRoute }>("/api/v1/routes", { schema: { body: newRoute } }, async (request, reply) => {
  const account = await signedIn(request, reply)
  const { geometry, name, visibility = "private", waypoints } = request.body
  const { rows } = await pool.query<Row>({
    name: "insert",
    text: `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
        distance, simplified, polyline6, bounds, position_count, created_at, updated_at)
      VALUES ($1, $2, $3, '{}', false, $4, $5, 'routing-engine', $6, $7, $8, $9, $10, $11, now(), now()) RETURNING *`,
    values: [
      account.id,
      name,
      visibility,
      JSON.stringify(waypoints),
      JSON.stringify(geometry),
      randomBytes(16).toString("hex"),
      ...derived(geometry),
      geometry.length
    ]
  })
  const [row] = rows
  return row === undefined ? reply.code(500).send() : reply.code(201).send(parsed(row))
})

await server.listen({ host: "127.0.0.1", port: Number(process.env["PORT"]) })
