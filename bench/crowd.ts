import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { createServer } from "node:http"
import { listening } from "../test/support/Listening.ts"
import { type Call, openLoop } from "./load.ts"
import { argument, processorTime, residentMemory, service } from "./processes.ts"
import { analyzed, connected, type Credential, database, lineOf, passwordHash, signedIn } from "./seed.ts"
import { median, P99, quantile } from "./statistics.ts"

// Many accounts at once, each with the rate limits of production: `npm run bench:crowd -- --accounts 200 --rate 120`.
const ACCOUNTS = Number(argument("accounts", "200"))
const RATE = Number(argument("rate", "120"))
const SECONDS = Number(argument("seconds", "5"))
const TURNS = Number(argument("turns", "5"))
const CONNECTIONS = 50

/** An address for each account: the limits of sign-ins are by address. */
const addressOf = (n: number) => ({ "x-forwarded-for": `198.18.${n >> 8}.${n & 255}` })

const accounts = Effect.fnUntraced(function*(url: string) {
  const client = yield* connected(url)
  const values = [yield* passwordHash, ACCOUNTS, JSON.stringify(lineOf(50))]
  yield* Effect.promise(() =>
    client.query(
      `WITH people AS (
         INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
         SELECT e, e, now(), $1, 'Person', 'person-' || n, now(), now()
         FROM (SELECT n, 'person-' || n || '@example.com' AS e FROM generate_series(1, $2::int) n) drawn RETURNING id
       )
       INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
         published_at, created_at, updated_at)
       SELECT id, 'Route ' || n, 'public', '{}', false, '[{"coord":[9,47]}]', $3, 'routing-engine',
         md5(id || '-' || n), now(), now(), now() FROM people, generate_series(1, 20) n`,
      values
    )
  )
  yield* analyzed(url)
}, Effect.scoped)

const PATHS = ["users/me", "routes?limit=10&geometry=none", "routes/1", "routes/public?limit=10&geometry=none"]

const callsOf = (origin: string, people: ReadonlyArray<Credential>): ReadonlyArray<Call> =>
  people.flatMap((person, n) =>
    PATHS.map((path) => ({ url: `${origin}/api/v1/${path}`, headers: { ...person, ...addressOf(n) } }))
  )

const variantsOf = (collector: string) => {
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_TRACES_SAMPLER: "parentbased_traceidratio" }
  return {
    "not traced": {},
    "one in ten traced": { ...traced, OTEL_TRACES_SAMPLER_ARG: "0.1" },
    "each traced": { ...traced, OTEL_TRACES_SAMPLER_ARG: "1" },
    "no metrics, no log": { TELEMETRY_ENABLED: "false", LOG_LEVEL: "warn" }
  }
}

const crowd = Effect.gen(function*() {
  const url = yield* database
  const sink = createServer((request, response) => void request.resume().on("end", () => response.end("{}")))
  const limits = { RATE_LIMITS_ENABLED: "true", TRUSTED_PROXIES: "127.0.0.0/8" }
  const servers = yield* Effect.forEach(
    Object.entries(variantsOf(`http://127.0.0.1:${yield* listening(sink)}`)),
    ([name, settings]) => Effect.map(service(url, { ...limits, ...settings }), (server) => ({ name, ...server }))
  )
  yield* accounts(url)
  const people = yield* Effect.forEach(
    Array.from({ length: ACCOUNTS }, (_, n) => n),
    (n) => signedIn(servers[0]?.origin ?? "", `person-${n + 1}@example.com`, addressOf(n)),
    { concurrency: 2 }
  )
  const turn = Effect.forEach(servers, ({ origin, pid }) =>
    Effect.gen(function*() {
      const before = yield* processorTime(pid)
      const outcomes = yield* Effect.promise(() => openLoop(callsOf(origin, people), RATE, CONNECTIONS, SECONDS))
      return { outcomes, cost: 1000 * ((yield* processorTime(pid)) - before) / outcomes.length }
    }))
  yield* turn
  const turns = yield* Effect.replicateEffect(turn, TURNS)
  yield* Console.log(
    `${ACCOUNTS} accounts, ${RATE} requests a second\n\n| process | processor time of a request | p50 | p99 | not 200 | memory |\n`
      + "|---|---|---|---|---|---|"
  )
  for (const [n, { name, pid }] of servers.entries()) {
    const own = turns.map((each) => each[n]).filter((load) => load !== undefined)
    const all = own.flatMap(({ outcomes }) => outcomes)
    const times = all.map(({ milliseconds }) => milliseconds)
    const cost = median(own.map((load) => load.cost)).toFixed(0)
    const failed = all.filter(({ status }) => status !== 200).length
    const latency = `${median(times).toFixed(1)} ms | ${quantile(times, P99).toFixed(1)} ms`
    const memory = (yield* residentMemory(pid)).toFixed(0)
    yield* Console.log(`| ${name} | ${cost} us | ${latency} | ${failed} | ${memory} MiB |`)
  }
}).pipe(Effect.scoped)

NodeRuntime.runMain(crowd)
