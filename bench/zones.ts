import { NodeRuntime } from "@effect/platform-node"
import { ConfigProvider, Console, Effect, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { UserId } from "../src/schema/Ids.ts"
import { ZONE_RADIUS } from "../src/schema/PrivacyZone.ts"
import { secretCircles } from "../src/services/accounts/Zones.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { missByDistance, missOf } from "../test/support/ZoneAttack.ts"
import { connected } from "./database.ts"
import { readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { median, quantile } from "./statistics.ts"

/** Where the route of `seed` starts. */
const HOME = [9, 47] as const

const HOMES = 200
const READS = 900

/** By how much twenty routes miss the home: by the circle through their ends, and by what their distances say is hidden. */
const attack = Effect.gen(function*() {
  const circleOf = yield* Effect.provide(secretCircles, ConfigProvider.layer(ConfigProvider.fromUnknown(SETTINGS)))
  yield* Console.log("| radius | least | median | most | by distances, least |\n|---|---|---|---|---|")
  for (const radius of [ZONE_RADIUS.minimum, 500, ZONE_RADIUS.maximum]) {
    const circles = Array.from(
      { length: HOMES },
      (_, index) => [circleOf(UserId.make(index + 1), { center: HOME, radius }, [])]
    )
    const misses = yield* Effect.forEach(circles, (circles) => Effect.promise(() => missOf(HOME, circles)))
    const byDistance = yield* Effect.forEach(circles, (circles) => Effect.promise(() => missByDistance(HOME, circles)))
    const cells = [...[0, 0.5, 1].map((share) => quantile(misses, share)), quantile(byDistance, 0)]
    yield* Console.log(`| ${[radius, ...cells].map((metres) => `${metres.toFixed(0)} m`).join(" | ")} |`)
  }
})

/** Circles to cut, in degrees and metres, of owners who have the same route. */
const OWNERS = {
  "no zones": [],
  "a zone elsewhere": [[0, 0, 200]],
  "a zone that cuts": [[...HOME, 200]]
}

/** The route of `seed` for an owner with these circles, whose id it gives. */
const routeOf = Effect.fnUntraced(
  function*(url: string, copied: number, circles: ReadonlyArray<ReadonlyArray<number>>) {
    const client = yield* connected(url)
    const ask = (text: string, values: ReadonlyArray<unknown>) =>
      Effect.promise(() => client.query<{ id: string }>(text, [...values]))
    const insertUser =
      `INSERT INTO users (email, email_key, email_verified_at, name, handle, created_at, updated_at, zones_revision)
    SELECT name, name, now(), name, name, now(), now(), $2 FROM left(md5($1), 20) name RETURNING id`
    const name = JSON.stringify(circles)
    const owner = (yield* ask(insertUser, [name, circles.length === 0 ? null : 1])).rows[0]?.id
    for (const [position, circle] of circles.entries()) {
      yield* ask(
        `INSERT INTO privacy_zones (user_id, position, lng, lat, radius, cut_lng, cut_lat, cut_radius)
       SELECT $1, $2, $3, $4, 100, $3, $4, $5`,
        [owner, position, ...circle]
      )
    }
    const { rows } = yield* ask(
      `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
       published_at, created_at, updated_at)
     SELECT $1, name, visibility, tags, favourite, waypoints, geometry, provenance, md5($2), now(), now(), now()
     FROM routes WHERE id = $3 RETURNING id`,
      [owner, name, copied]
    )
    return Number(rows[0]?.id)
  },
  Effect.scoped
)

const timed = Effect.fnUntraced(function*(url: string) {
  const started = performance.now()
  yield* Effect.promise(() => fetch(url).then((response) => response.arrayBuffer()))
  return performance.now() - started
})

const reads = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const database = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const { origin, started } = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: database })
  yield* readyAfter(`${origin}/health/ready`, started)
  const id = yield* seed(database)
  if (id === undefined) return yield* Effect.die(new Error("the route was not stored"))
  const urls = yield* Effect.forEach(
    Object.values(OWNERS),
    (circles) => Effect.map(routeOf(database, id, circles), (id) => `${origin}/api/v1/routes/${id}`)
  )
  yield* Effect.forEach(Array.from({ length: 300 }), () => timed(`${origin}/api/v1/routes/${id}`))
  const first = yield* Effect.forEach(urls, timed)
  // In turns, so that what else the machine does slows all alike.
  const rounds = yield* Effect.forEach(Array.from({ length: READS }), () => Effect.forEach(urls, timed))
  yield* Console.log("\n| 5,000 positions, by others | first read | p50 | of none |\n|---|---|---|---|")
  const p50 = (column: number) => median(rounds.map((round) => round[column] ?? 0))
  for (const [column, name] of Object.keys(OWNERS).entries()) {
    const cells = [first[column] ?? 0, p50(column)].map((millis) => `${millis.toFixed(2)} ms`)
    const ratio = median(rounds.map((round) => (round[column] ?? 0) / (round[0] ?? 1)))
    yield* Console.log(`| ${[name, ...cells, ratio.toFixed(2)].join(" | ")} |`)
  }
})

NodeRuntime.runMain(Effect.scoped(Effect.andThen(attack, reads)))
