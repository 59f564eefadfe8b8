import { NodeRuntime } from "@effect/platform-node"
import { ConfigProvider, Console, Effect, Redacted } from "effect"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { UserId } from "../src/schema/Ids.ts"
import { ZONE_RADIUS } from "../src/schema/PrivacyZone.ts"
import { secretCircles } from "../src/services/accounts/SecretCircles.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { missOf } from "../test/support/ZoneAttack.ts"
import { processorTime, readyAfter, running, SETTINGS } from "./processes.ts"
import { seed } from "./seed.ts"
import { latencyOf } from "./sequential.ts"
import { type Credential, signedIn } from "./session.ts"
import { median, quantile } from "./statistics.ts"

/** Where the route of `seed` starts. */
const HOME = [9, 47] as const

const HOMES = 200
const ROUNDS = 9

/** What the best circle through the ends of twenty routes misses the home by, in parts of the radius. */
const attack = Effect.gen(function*() {
  const circleOf = yield* Effect.provide(secretCircles, ConfigProvider.layer(ConfigProvider.fromUnknown(SETTINGS)))
  yield* Console.log("| radius | least miss | median | most |\n|---|---|---|---|")
  for (const radius of [ZONE_RADIUS.minimum, 500, ZONE_RADIUS.maximum]) {
    const misses = yield* Effect.forEach(
      Array.from({ length: HOMES }),
      (_, index) => Effect.promise(() => missOf(HOME, [circleOf(UserId.make(index + 1), { center: HOME, radius }, [])]))
    )
    const cells = [0, 0.5, 1].map((share) => `${quantile(misses, share).toFixed(0)} m`)
    yield* Console.log(`| ${radius} m | ${cells.join(" | ")} |`)
  }
})

const ZONES = {
  "no zones": [],
  "a zone elsewhere": [{ center: [0, 0], radius: ZONE_RADIUS.minimum }],
  "a zone that cuts": [{ center: HOME, radius: ZONE_RADIUS.minimum }]
}

const setZones = (origin: string, headers: Credential, zones: ReadonlyArray<unknown>) =>
  Effect.promise(() =>
    fetch(`${origin}/api/v1/users/me/privacy-zones`, {
      method: "PUT",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ zones })
    })
  ).pipe(Effect.filterOrElse(({ ok }) => ok, ({ status }) => Effect.die(new Error(`zones were refused: ${status}`))))

const reads = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const database = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: false }))
  const { origin, pid, started } = yield* running("src/main.ts", { ...SETTINGS, DATABASE_URL: database })
  yield* readyAfter(`${origin}/health/ready`, started)
  const id = yield* seed(database)
  const session = yield* signedIn(origin, "bench@example.com")
  const calls = [{ url: `${origin}/api/v1/routes/${id}` }]

  const measured = Effect.fnUntraced(function*(zones: ReadonlyArray<unknown>) {
    yield* setZones(origin, session, zones)
    const first = performance.now()
    yield* Effect.promise(() => fetch(calls[0]?.url ?? "").then((response) => response.text()))
    const cold = performance.now() - first
    const before = yield* processorTime(pid)
    const { p50 } = yield* latencyOf(calls)
    return { cold, p50, processor: (yield* processorTime(pid)) - before }
  })

  const round = Effect.forEach(Object.values(ZONES), measured)
  yield* round
  const rounds = yield* Effect.forEach(Array.from({ length: ROUNDS }), () => round)
  yield* Console.log(
    "\n| 5,000 positions, by others | first read | p50 | of none | processor of none |\n|---|---|---|---|---|"
  )
  for (const [column, name] of Object.keys(ZONES).entries()) {
    const ratioOf = (figure: "p50" | "processor") =>
      median(rounds.map((row) => (row[column]?.[figure] ?? 0) / (row[0]?.[figure] ?? 1))).toFixed(2)
    const millis = (figure: "cold" | "p50") => median(rounds.map((row) => row[column]?.[figure] ?? 0)).toFixed(2)
    yield* Console.log(
      `| ${name} | ${millis("cold")} ms | ${millis("p50")} ms | ${ratioOf("p50")} | ${ratioOf("processor")} |`
    )
  }
})

NodeRuntime.runMain(Effect.scoped(Effect.andThen(attack, reads)))
