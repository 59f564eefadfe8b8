import { NodeRuntime } from "@effect/platform-node"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { elevationGainOf } from "../src/services/geometry/Elevation.ts"
import { metresAlong, NO_GAPS } from "../src/services/geometry/Geodesy.ts"
import { simplifiedLine } from "../src/services/geometry/MeasuredPolyline.ts"
import { Places } from "../src/services/geometry/Places.ts"
import { encodePolyline } from "../src/services/geometry/Polyline.ts"
import { scanPositions } from "../src/services/geometry/PositionScanner.ts"
import { newRoute } from "./people.ts"
import { openTable } from "./report.ts"
import { columnsOfRoutes, lineOf, onDatabase, post, seeded } from "./seed.ts"

// `npm run bench:derived -- --write` measures the cost of each value that the service derives from a new route.
const POSITIONS = [100, 1000, 20_000]
const TIMES = 100

const PLACE = [9.5209, 47.1415] as const

/** Returns the shortest of many measurements, in microseconds. */
const leastOf = (run: () => unknown) => {
  const times = Array.from({ length: 10 * TIMES }, () => {
    const began = performance.now()
    run()
    return performance.now() - began
  })
  return 1000 * Math.min(...times)
}

/** Measures the process, for a line with this number of positions. */
const inProcess = Effect.fnUntraced(function*(positions: number) {
  const places = yield* Places
  // The first call loads what it needs.
  yield* places.at(PLACE)
  const text = Buffer.from(JSON.stringify(lineOf(positions)))
  const { coordinates, elevations = new Float64Array() } = scanPositions(text, 0)?.line ??
    (yield* Effect.die("no line"))
  const along = metresAlong(coordinates)
  return new Map([
    ["the line itself, read from the body", leastOf(() => scanPositions(text, 0))],
    ["length", leastOf(() => metresAlong(coordinates))],
    ["elevation gain", leastOf(() => elevationGainOf(coordinates, elevations, NO_GAPS, along))],
    ["simplified line", leastOf(() => simplifiedLine(coordinates))],
    ["encoded line", leastOf(() => encodePolyline(coordinates))],
    ["digest of the body, for a repeat", leastOf(() => createHash("sha256").update(text).digest())],
    ["place", leastOf(() => Effect.runSync(places.at(PLACE)))]
  ])
}, Effect.provide(Places.layer))

const Created = Schema.Struct({ id: Schema.Int })

/** PostgreSQL measures a trigger for the statement that fires it, in milliseconds. */
const Explained = Schema.Array(Schema.Struct({
  "QUERY PLAN": Schema.Array(Schema.Struct({
    "Execution Time": Schema.Finite,
    "Triggers": Schema.Array(Schema.Struct({ "Trigger Name": Schema.String, "Time": Schema.Finite }))
  }))
}))

/** Measures PostgreSQL, for the same row stored again and again. */
const inDatabase = Effect.fnUntraced(
  function*({ origin, session, url }: Effect.Success<ReturnType<typeof seeded>>, positions: number) {
    const body = newRoute("A day at the river", positions, "private")
    const { id } = yield* post(`${origin}/api/v1/routes`, session, body, Created)
    const least = new Map<string, number>()
    const note = (name: string, milliseconds: number) =>
      least.set(name, Math.min(least.get(name) ?? Infinity, 1000 * milliseconds))
    yield* onDatabase(url, (sql) =>
      Effect.gen(function*() {
        const columns = sql.literal((yield* columnsOfRoutes(sql)).join(", "))
        for (let time = 0; time < TIMES; time++) {
          const rows = yield* sql`
          EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO routes (share_token, ${columns})
          SELECT md5(random()::text), ${columns} FROM routes WHERE id = ${id}`
          const plans = yield* Schema.decodeUnknownEffect(Explained)(rows)
          for (const plan of plans.flatMap((row) => row["QUERY PLAN"])) {
            note("the whole statement", plan["Execution Time"])
            for (const { Time, "Trigger Name": name } of plan.Triggers) {
              note(name.startsWith("RI_") ? "foreign key of the account" : `trigger \`${name}\``, Time)
            }
          }
        }
      }))
    return least
  }
)

const derived = Effect.gen(function*() {
  const bench = yield* seeded()
  const table = yield* openTable("derived", ["us, of positions", ...POSITIONS.map((n) => n.toLocaleString("en"))])
  const ours = yield* Effect.forEach(POSITIONS, (positions) => inProcess(positions))
  const theirs = yield* Effect.forEach(POSITIONS, (positions) => inDatabase(bench, positions))
  for (const columns of [ours, theirs]) {
    for (const name of columns[0]?.keys() ?? []) {
      yield* table.row([name, ...columns.map((column) => (column.get(name) ?? 0).toFixed(0))])
    }
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(derived)
