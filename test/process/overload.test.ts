import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { Agent } from "node:http"
import { ask, type Call, closedLoop, type Outcome } from "../../bench/load.ts"
import { type Rider, signedUp } from "../support/Actors.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { MailProvider } from "../support/MailProvider.ts"
import { type Replica, replica } from "../support/Replica.ts"
import { newRoute } from "../support/Routes.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"

/** The service has a process of its own, so that what a test takes of the processor is not the service's. */
class Service extends Context.Service<Service, Replica>()("test/Service") {
  static readonly layer = Layer.unwrap(Effect.gen(function*() {
    const started = yield* replica({
      ...yield* MailProvider,
      DATABASE_URL: yield* clonedDatabase,
      OUTBOX_POLL_INTERVAL: "100 millis",
      NODE_ENV: "test",
      RATE_LIMITS_ENABLED: "false",
      MAX_RUNNING_REQUESTS: "32",
      CORS_ORIGINS: "https://app.example.com"
    })
    yield* started.ready
    return Layer.mergeAll(Layer.succeed(Service, started), Layer.succeed(TestServer, started.server))
  })).pipe(Layer.provideMerge(MailProvider.layer(0)))
}

const Refusal = Schema.Struct({
  statusCode: Schema.Int,
  code: Schema.String,
  message: Schema.String,
  details: Schema.Struct({ retryAfterSeconds: Schema.Literal(1), traceId: Schema.String })
})

const callsOf = (origin: string, rider: Rider) => {
  const headers = { authorization: `Bearer ${rider.token}` }
  const api = `${origin}/api/v1`
  return [
    { url: `${api}/routes/public?limit=10` },
    { url: `${api}/routes`, headers },
    { url: `${api}/users/me`, headers },
    {
      url: `${api}/routes`,
      method: "POST" as const,
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(newRoute({}))
    }
  ]
}

/** Asks for the health of the service again and again, until it is interrupted. */
const watched = (origin: string, path: string, into: Array<Outcome>) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return Effect.promise(() => ask(agent, { url: `${origin}${path}` })).pipe(
    Effect.tap((outcome) => Effect.sync(() => into.push(outcome))),
    Effect.andThen(Effect.sleep("20 millis")),
    Effect.forever,
    Effect.ensuring(Effect.sync(() => agent.destroy()))
  )
}

const statusesOf = (outcomes: ReadonlyArray<Outcome>) =>
  [...new Set(outcomes.map(({ status }) => status))].toSorted((a, b) => a - b)

/** Runs so many clients until some work beside them has ended. Returns what they got and what the work returned. */
const crowdDuring = Effect.fnUntraced(
  function*<A>(calls: ReadonlyArray<Call>, clients: number, work: Effect.Effect<A>) {
    const isOver = new AbortController()
    const crowd = yield* Effect.forkChild(Effect.promise(() => closedLoop(calls, clients, 60, isOver.signal)))
    const seen = yield* work
    isOver.abort()
    return { outcomes: yield* Fiber.join(crowd), seen }
  }
)

const refusalsTotal = Effect.flatMap(TestServer, ({ call }) => call("GET", "//metrics")).pipe(
  Effect.map(({ text }) => Number(/^overload_refusals_total (\d+)$/m.exec(text)?.[1]))
)

layer(Service.layer, { excludeTestServices: true })("a process with too much to do", (it) => {
  it.effect(
    "refuses a part in the shape of all errors, serves the rest and its health, and is as before when it is over",
    () =>
      Effect.gen(function*() {
        const service = yield* Service
        const { server } = service
        const calls = callsOf(server.origin, yield* signedUp)
        const fewClients = Effect.promise(() => closedLoop(calls, 8, 0.2))
        assert.deepStrictEqual(statusesOf(yield* fewClients), [200, 201])
        assert.strictEqual(yield* refusalsTotal, 0)

        const live: Array<Outcome> = []
        const ready: Array<Outcome> = []
        const refusalOf = (origin: string, size: number) =>
          Effect.repeat(
            server.call("POST", "/auth/login-email", { headers: { origin }, body: { filler: "x".repeat(size) } }),
            { until: ({ status }) => status === 503 }
          )
        const { outcomes, seen: { long, short } } = yield* crowdDuring(
          calls,
          200,
          Effect.gen(function*() {
            const watchers = yield* Effect.forkChild(Effect.all([
              watched(server.origin, "/health/live", live),
              watched(server.origin, "/health/ready", ready)
            ], { concurrency: 2 }))
            const short = yield* refusalOf("https://app.example.com", 10)
            const long = yield* refusalOf("https://other.example.com", 100_000)
            // The query of readiness waits for a connection like all others, and fails after half a second.
            yield* until(Effect.sync(() => live.length >= 10 && ready.some(({ status }) => status === 200)))
            yield* Fiber.interrupt(watchers)
            return { short, long }
          })
        )
        const refused = outcomes.filter(({ status }) => status === 503)
        assert.deepStrictEqual(statusesOf(outcomes), [200, 201, 503])
        assert.isTrue(refused.every(({ retryAfter }) => Number(retryAfter) > 0))
        const total = yield* refusalsTotal
        assert.isAbove(total, 0)
        assert.isAtMost(total, [...refused, short, long].length)
        assert.deepStrictEqual(statusesOf(live), [200])

        const { details: { traceId }, ...refusal } = yield* Schema.decodeUnknownEffect(Refusal)(short.body)
        assert.deepStrictEqual(refusal, {
          statusCode: 503,
          code: "INTERNAL",
          message: "The service has too many requests: try again"
        })
        const isLogged = () =>
          service.output().split("\n").some((line) => line.includes(traceId) && line.includes(`"status":503`))
        yield* until(Effect.sync(isLogged))
        assert.strictEqual(short.headers.get("retry-after"), "1")
        assert.strictEqual(short.headers.get("content-type"), "application/json")
        assert.strictEqual(short.headers.get("cache-control"), "no-store")
        assert.strictEqual(short.headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(short.headers.get("access-control-allow-origin"), "https://app.example.com")
        assert.strictEqual(short.headers.get("connection"), "keep-alive")
        assert.strictEqual(long.headers.get("access-control-allow-origin"), "*")
        assert.strictEqual(long.headers.get("connection"), "close")

        assert.deepStrictEqual(statusesOf(yield* fewClients), [200, 201])
        assert.strictEqual(yield* refusalsTotal, total)
      })
  )
})
