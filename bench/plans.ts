import { Console, Effect } from "effect"
import { Client } from "pg"
import { IS_CURRENT, routeColumns } from "../src/services/routes/RouteRows.ts"
import type { Filled } from "./fill.ts"

const publicOnly = `r.visibility = 'public' AND r.deleted_at IS NULL AND u.deletion_requested_at IS NULL`
const indexable = `${publicOnly} AND r.is_indexable`
const indexableOnly = `${indexable} AND u.zones_revision IS NULL`
const currentView = `FROM route_views v WHERE v.route_id = r.id AND ${IS_CURRENT}`
const inViews = `${indexable} AND u.zones_revision IS NOT NULL`
const inBoxes = `(r.bounds && $1::box OR r.bounds && $2::box)`

const page = (where: string, order: string, limit: number) => `
  SELECT ${routeColumns("simplified")} FROM (
    SELECT r.id FROM routes r JOIN users u ON u.id = r.user_id
    WHERE ${where} ORDER BY ${order} LIMIT $${limit} OFFSET $${limit + 1}
  ) found JOIN routes r ON r.id = found.id JOIN users u ON u.id = r.user_id
  ORDER BY ${order}`

const count = (where: string) => `
  SELECT count(*)::int AS total FROM routes r JOIN users u ON u.id = r.user_id WHERE ${where}`

const countInBoxes = (where: string) => `
  SELECT sum(total)::int AS total FROM (
    ${count(`${where} AND r.bounds && $1::box`)}
    UNION ALL ${count(`${where} AND r.bounds && $2::box AND NOT (r.bounds && $1::box)`)}
  ) counted`

const ownList = `
  SELECT c.total, p.* FROM
    (SELECT count(*)::int AS total FROM routes WHERE user_id = $1 AND deleted_at IS NULL) c
    LEFT JOIN (
      SELECT ${routeColumns("none")} FROM routes r JOIN users u ON u.id = r.user_id
      WHERE r.user_id = $2 AND r.deleted_at IS NULL
      ORDER BY r.created_at DESC, r.id DESC LIMIT $3 OFFSET $4
    ) p ON true
  ORDER BY p.created_at DESC, p.id DESC`

const byId = `
  SELECT ${routeColumns("full")} FROM routes r JOIN users u ON u.id = r.user_id
  WHERE r.id = $1 AND r.deleted_at IS NULL
    AND (r.user_id = $2 OR (r.visibility = 'public' AND u.deletion_requested_at IS NULL))`

const newestPublished = "r.published_at DESC, r.id DESC"
const newestUpdated = "r.updated_at DESC, r.id DESC"

/** Both boxes of a viewport of the whole world. */
const WORLD = ["(180,90),(-180,-90)", "(540,90),(180,-90)"] as const

/** The statements of the service as it sends them, with what it would send along. */
const statements = ({ centres: [[lng, lat] = [0, 0]], publicIds: [id = 0] }: Filled, city: string) => {
  const box = (shift: number) =>
    `(${(lng + shift + 0.2).toFixed(4)},${(lat + 0.2).toFixed(4)}),(${(lng + shift - 0.2).toFixed(4)},${
      (lat - 0.2).toFixed(4)
    })`
  const boxes = [box(0), box(360)]
  return [
    ["own list", ownList, [1, 1, 100, 0]],
    ["public in a city", page(`${publicOnly} AND ${inBoxes}`, newestPublished, 3), [...boxes, 100, 0]],
    ["public in a city, total", countInBoxes(publicOnly), boxes],
    ["indexable in a city", page(`${indexableOnly} AND ${inBoxes}`, newestUpdated, 3), [...boxes, 100, 0]],
    ["indexable in a city, total", countInBoxes(indexableOnly), boxes],
    ["indexable in the world's box, total", countInBoxes(indexableOnly), WORLD],
    ["public, total", count(publicOnly), []],
    ["indexable, total", count(indexableOnly), []],
    ["indexable of an activity, total", count(`${indexableOnly} AND r.activity = $1`), ["cycle"]],
    ["indexable by city, total", count(`${indexableOnly} AND lower(r.place_city) = lower($1)`), [city]],
    ["indexable by distance, total", count(`${indexableOnly} AND r.distance >= $1 AND r.distance <= $2`), [1000, 5000]],
    [
      "indexable of owners with zones",
      page(`${inViews} AND (SELECT v.is_whole OR v.is_indexable ${currentView})`, newestUpdated, 1),
      [100, 0]
    ],
    [
      "indexable of owners with zones, total",
      count(`${inViews} AND EXISTS (SELECT ${currentView} AND (v.is_whole OR v.is_indexable))`),
      []
    ],
    ["public, beyond the end", page(publicOnly, newestPublished, 1), [100, Number.MAX_SAFE_INTEGER]],
    ["indexable, beyond the end", page(indexableOnly, newestUpdated, 1), [100, Number.MAX_SAFE_INTEGER]],
    ["public route", byId, [id, 0]]
  ] as const
}

const literal = (value: string | number) =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`

const argumentsOf = (values: ReadonlyArray<string | number>) =>
  values.length === 0 ? "" : `(${values.map(literal).join(", ")})`

const explained = async (client: Client, [name, text, values]: ReturnType<typeof statements>[number]) => {
  const execute = `EXECUTE explained${argumentsOf(values)}`
  await client.query(`PREPARE explained AS ${text}`)
  // The driver prepares what it sends; from the sixth execution on the planner may settle for a generic plan.
  for (let n = 0; n < 6; n++) await client.query(execute)
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS) ${execute}`)
  await client.query("DEALLOCATE explained")
  return `-- ${name}\n${rows.map((row) => row["QUERY PLAN"]).join("\n")}\n`
}

/** Prints the plans that PostgreSQL settles for when the service has sent each of its statements a few times. */
export const printPlans = Effect.fnUntraced(function*(url: string, filled: Filled) {
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  const { rows } = yield* Effect.promise(() =>
    client.query("SELECT place_city FROM routes WHERE id = $1", [filled.publicIds[0]])
  )
  yield* Effect.forEach(
    statements(filled, String(rows[0]?.["place_city"])),
    (statement) => Effect.flatMap(Effect.promise(() => explained(client, statement)), (text) => Console.log(text))
  )
}, Effect.scoped)
