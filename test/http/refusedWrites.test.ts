import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Fiber, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { StoresNothing } from "../../src/http/api/Requests.ts"
import { LargeResponseLimits } from "../../src/http/middleware/LargeResponses.ts"
import { BodyAllowance } from "../../src/http/request/RequestBodies.ts"
import { CountTimeout } from "../../src/layers/Redis.ts"
import { type Rider, signedIn } from "../support/Actors.ts"
import { MIB, unread } from "../support/Connections.ts"
import { filling, partlySent } from "../support/HeldBodies.ts"
import { longRoute } from "../support/LongRoute.ts"
import { JSON_TYPE } from "../support/RawHttp.ts"
import { CLIENT_ID, SignInProvider } from "../support/SignInProvider.ts"
import { StandInRedis } from "../support/StandInRedis.ts"
import { TestServer } from "../support/TestServer.ts"
import { until, untilNone } from "../support/Waiting.ts"
import { ADMIN_EMAILS, pathOf, type Write, writes } from "../support/Writes.ts"

/** The writes of each test have an address of their own, since addresses are counted. All else comes from another. */
const addressOf = (test: number) => `10.1.${test}.1`

const serverWith = (settings: Readonly<Record<string, string>> = {}) =>
  Layer.unwrap(
    Effect.map(SignInProvider, ({ issuer }) =>
      TestServer.layer({
        ADMIN_EMAILS,
        TRUSTED_PROXIES: "127.0.0.0/8",
        GOOGLE_ISSUER: issuer,
        GOOGLE_CLIENT_ID: CLIENT_ID,
        GOOGLE_CLIENT_SECRET: "a secret",
        ...settings
      }))
  ).pipe(Layer.provideMerge(SignInProvider.layer))

/**
 * Digests the rows of each table, but for mails, which are delivered meanwhile, the last use of a credential, and
 * lines, which are long.
 */
const digests = SqlClient.SqlClient.use((sql) =>
  sql`
    SELECT tablename, md5(query_to_xml(
      format('SELECT to_jsonb(t) - ''{geometry,last_seen_at,last_used_at}''::text[] AS row FROM %I t ORDER BY 1', tablename),
      true, false, ''
    )::text) AS digest
    FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'outbox' ORDER BY tablename`
).pipe(Effect.map((rows) => rows.map((row) => Object.values(row).join(" ")).join("\n")))

const stored = SqlClient.SqlClient.use((sql) => Effect.andThen(untilNone(sql`SELECT FROM outbox`), digests))

type Endpoint = typeof writes[number]["endpoint"]

interface Prepared {
  readonly name: string
  readonly endpoint: Endpoint
  readonly write: Write
}

const mayStore = (endpoint: Endpoint) => !Context.get(endpoint.annotations, StoresNothing)

const prepared = (only: (name: string) => boolean = () => true) =>
  Effect.forEach(writes.filter(({ name }) => only(name)), ({ endpoint, name, prepare }) =>
    prepare === undefined
      ? Effect.sync((): Prepared => assert.fail(`test/support/Writes.ts has no write of "${name}"`))
      : Effect.map(prepare, (write): Prepared => ({ name, endpoint, write })))

const sent = ({ endpoint, write: { cookie, headers, params, ...write } }: Prepared, address: string) =>
  Effect.flatMap(TestServer, ({ call }) =>
    call(endpoint.method, pathOf(endpoint.path, params), {
      ...write,
      headers: { "x-forwarded-for": address, ...(cookie === undefined ? {} : { cookie }), ...headers }
    }))

/**
 * Sends all beside a limit. Asserts that nothing is stored, and returns the status of each that stores something
 * elsewhere.
 */
const statusesOfRefused = Effect.fnUntraced(
  function*<R>(all: ReadonlyArray<Prepared>, address: string, limit: Effect.Effect<unknown, never, R>) {
    const before = yield* stored
    const send = (one: Prepared) => Effect.map(sent(one, address), ({ status }) => [one.name, status] as const)
    const statuses = yield* Effect.scoped(Effect.andThen(limit, Effect.forEach(all, send, { concurrency: 8 })))
    assert.strictEqual(yield* stored, before)
    const storing = new Set(all.filter(({ endpoint }) => mayStore(endpoint)).map(({ name }) => name))
    assert.isNotEmpty(storing)
    return statuses.filter(([name]) => storing.has(name))
  }
)

const except = (statuses: ReadonlyArray<readonly [string, number]>, expected: ReadonlyArray<number>) =>
  statuses.filter(([, status]) => !expected.includes(status))

/**
 * Sends one after the other, each beside a limit. Asserts that each succeeds and is stored, unless it stores nothing
 * elsewhere.
 */
const assertStored = Effect.fnUntraced(
  function*<R>(all: ReadonlyArray<Prepared>, address: string, limit: Effect.Effect<unknown, never, R | Scope.Scope>) {
    assert.isNotEmpty(all)
    let before = yield* stored
    for (const one of all) {
      const { status, text } = yield* Effect.scoped(Effect.andThen(limit, sent(one, address)))
      const after = yield* stored
      const message = `${one.name}: ${status} ${text.slice(0, 200)}`
      assert.strictEqual(after !== before, mayStore(one.endpoint), message)
      if (mayStore(one.endpoint)) assert.isBelow(status, 300, message)
      before = after
    }
  }
)

/** Asks from the address for a long response, and does not read it. */
const unreadResponse = Effect.fnUntraced(function*(address: string) {
  const id = yield* longRoute(yield* signedIn)
  const { statusCode } = yield* unread(`/routes/${id}`, address)
  assert.strictEqual(statusCode, 200)
})

const responsesOf = (perAddress: number) =>
  Layer.succeed(LargeResponseLimits, {
    perAddress,
    perNetwork: 100 * MIB,
    anonymous: 100 * MIB,
    total: 100 * MIB
  })

const PADDING = " ".repeat(70_000)

const hasLongBody = ({ write: { body, raw } }: Prepared) => body !== undefined || typeof raw === "string"

const padded = ({ write: { body, headers, raw, ...write }, ...rest }: Prepared): Prepared => ({
  ...rest,
  write: body === undefined
    ? { ...write, raw: raw + PADDING, ...(headers === undefined ? {} : { headers }) }
    : { ...write, raw: PADDING + JSON.stringify(body), headers: JSON_TYPE }
})

const POOL = 2

/** Has connections of the database until the scope closes. */
const taken = (connections: number) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.gen(function*() {
      const done = yield* Deferred.make<void>()
      const begun = yield* Effect.replicateEffect(Deferred.make<void>(), connections)
      const holders = yield* Effect.forEach(begun, (begun) =>
        Effect.forkChild(sql.withTransaction(
          Effect.andThen(sql`SELECT 1`, Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(done)))
        )))
      yield* Effect.forEach(begun, Deferred.await)
      yield* Effect.addFinalizer(() =>
        Effect.andThen(Deferred.succeed(done, undefined), Effect.orDie(Fiber.joinAll(holders)))
      )
    })
  )

const SPIN_MS = 5

/** Keeps the event loop busy until the scope closes. */
const saturated = Effect.acquireRelease(
  Effect.sync(() => {
    const state = { isOver: false }
    const spin = () => {
      const until = performance.now() + SPIN_MS
      while (performance.now() < until);
      if (!state.isOver) setImmediate(spin)
    }
    spin()
    return state
  }),
  (state) => Effect.sync(() => state.isOver = true)
)

/** They are more than the writes of a test that are sent at once. */
const RUNNING = 16

/**
 * Has as many requests as the process works on before it has too much to do, which wait for the database again and
 * again.
 */
const manyRequests = Effect.fnUntraced(function*(rider: Rider) {
  const { call } = yield* TestServer
  yield* taken(POOL)
  const waiting = Effect.forever(Effect.andThen(rider.get("/users/me"), Effect.sleep("20 millis")))
  yield* Effect.replicateEffect(Effect.forkScoped(waiting), RUNNING)
  yield* saturated
  yield* until(Effect.map(call("GET", "/nothing"), ({ status }) => status === 503))
})

/** All writes are refused until the last tests send them once more. */
class Writes extends Context.Service<Writes, ReadonlyArray<Prepared>>()("test/Writes") {
  static readonly layer = Layer.effect(Writes, prepared())
}

const limitedServer = Layer.unwrap(Effect.map(StandInRedis, ({ url }) =>
  serverWith({
    RATE_LIMITS_ENABLED: "true",
    REDIS_URL: url,
    BODY_MEMORY_BUDGET: "16 MiB",
    DATABASE_POOL_SIZE: String(POOL),
    DATABASE_QUEUE_TIMEOUT: "500 millis",
    MAX_RUNNING_REQUESTS: String(RUNNING)
  }))).pipe(
    Layer.provide(Layer.succeed(BodyAllowance, { grace: Duration.minutes(5), bytesPerSecond: 1 })),
    Layer.provide(responsesOf(1)),
    // On a busy machine a late count would let a write through.
    Layer.provide(Layer.succeed(CountTimeout, Duration.seconds(20))),
    Layer.provideMerge(StandInRedis.layer)
  )

layer(Writes.layer.pipe(Layer.provideMerge(limitedServer)), { excludeTestServices: true })("a write", (it) => {
  it.effect("above the rate limit is not stored, of every endpoint", () =>
    Effect.gen(function*() {
      const { become } = yield* StandInRedis
      const limit = Effect.acquireRelease(become("full"), () => become("serve"))
      assert.isEmpty(except(yield* statusesOfRefused(yield* Writes, addressOf(1), limit), [429]))
    }))

  it.effect("of an address that does not read its responses is refused before its work, of every endpoint", () =>
    Effect.gen(function*() {
      const address = addressOf(2)
      yield* unreadResponse(address)
      assert.isEmpty(except(yield* statusesOfRefused(yield* Writes, address, Effect.void), [429]))
    }).pipe(Effect.scoped))

  it.effect("that finds no connection of the database is not stored, of every endpoint", () =>
    Effect.gen(function*() {
      assert.isEmpty(except(yield* statusesOfRefused(yield* Writes, addressOf(3), taken(POOL)), [503]))
    }))

  it.effect("to a process that has too much to do is not stored, of every endpoint", () =>
    Effect.gen(function*() {
      const limit = manyRequests(yield* signedIn)
      assert.isEmpty(except(yield* statusesOfRefused(yield* Writes, addressOf(4), limit), [503]))
    }))

  it.effect("with a long body above the share of its address is not stored, and one without is, of every endpoint", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const all = yield* Writes
      const address = addressOf(5)
      const rider = yield* signedIn
      const headers = { "Cookie": rider.cookie, "X-Forwarded-For": address }
      const part = partlySent("POST /api/v1/routes", " ".repeat(8 * MIB - 1), {
        ...headers,
        "Content-Length": String(8 * MIB)
      })
      const refused = call("POST", "/routes", { raw: PADDING, headers: { ...JSON_TYPE, ...headers } })
      yield* filling(part, Effect.map(refused, ({ status }) => status === 429))
      const statuses = yield* statusesOfRefused(all.filter(hasLongBody).map(padded), address, Effect.void)
      assert.isEmpty(except(statuses, [413, 429]))
      assert.deepInclude(Object.fromEntries(statuses), { "routes create": 429, "collections create": 413 })
      yield* assertStored(all.filter((one) => !hasLongBody(one)), address, Effect.void)
    }).pipe(Effect.scoped))

  it.effect("that was refused is stored once nothing limits it", () =>
    Effect.gen(function*() {
      yield* assertStored((yield* Writes).filter(hasLongBody), addressOf(6), Effect.void)
    }))
})

layer(serverWith().pipe(Layer.provide(responsesOf(12 * MIB))), { excludeTestServices: true })(
  "a write whose response is above the share of its address",
  (it) => {
    const RETURNS_ROUTE = /^(routes (update|restore|batch)|links replaceRouteShareToken)$/

    const longLines = SqlClient.SqlClient.use((sql) =>
      sql`
        UPDATE routes SET geometry = (SELECT max(geometry) FROM routes WHERE length(geometry) > ${MIB})
        WHERE geometry IS NULL`
    )

    it.effect("is stored, and has its response", () =>
      Effect.gen(function*() {
        const address = addressOf(1)
        yield* unreadResponse(address)
        const all = yield* prepared((name) => RETURNS_ROUTE.test(name))
        assert.lengthOf(all, 4)
        yield* longLines
        yield* assertStored(all, address, Effect.void)
      }).pipe(Effect.scoped))
  }
)

/** Takes each connection between two uses of the write, and keeps it once something is stored. */
const takenOnceStored = SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    const before = yield* digests
    const look = Effect.flatMap(digests, (now) => now === before ? Effect.void : Effect.never)
    yield* Effect.forkScoped(Effect.forever(sql.withTransaction(look)))
  })
).pipe(Effect.orDie)

const oneConnection = { DATABASE_POOL_SIZE: "1", DATABASE_QUEUE_TIMEOUT: "1 second" }

layer(serverWith(oneConnection), { excludeTestServices: true })(
  "a write that finds no connection of the database once it is stored",
  (it) => {
    it.effect("needs none, of every endpoint but an import of an account, which is stored in parts", () =>
      Effect.gen(function*() {
        const all = yield* prepared((name) => name !== "accountData import")
        yield* assertStored(all, addressOf(1), takenOnceStored)
      }))
  }
)
