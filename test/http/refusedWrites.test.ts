import { assert, layer } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Fiber, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { StoresNothing } from "../../src/http/api/Requests.ts"
import { LargeResponseLimits } from "../../src/http/middleware/LargeResponses.ts"
import { BodyAllowance } from "../../src/http/request/RequestBodies.ts"
import { signedIn } from "../support/Actors.ts"
import { MIB, unread } from "../support/Connections.ts"
import { filling, partlySent } from "../support/HeldBodies.ts"
import { longRoute } from "../support/LongRoute.ts"
import { JSON_TYPE } from "../support/RawHttp.ts"
import { CLIENT_ID, SignInProvider } from "../support/SignInProvider.ts"
import { StandInRedis } from "../support/StandInRedis.ts"
import { TestServer } from "../support/TestServer.ts"
import { until } from "../support/Waiting.ts"
import { ADMIN_EMAILS, pathOf, type Write, writes } from "../support/Writes.ts"

/** What sends the writes; all that prepares them comes from another address. */
const ADDRESS = "10.1.1.1"

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

/** All rows, but for mails, which are delivered meanwhile, the last use of a credential, and lines, which are long. */
const digest = SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    const [row] = yield* sql`
      SELECT md5(string_agg(query_to_xml(
        format('SELECT to_jsonb(t) - ''{geometry,last_seen_at,last_used_at}''::text[] AS row FROM %I t ORDER BY 1', tablename),
        true, false, ''
      )::text, ',' ORDER BY tablename)) AS digest
      FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'outbox'`
    return row?.["digest"]
  })
)

const stored = SqlClient.SqlClient.use((sql) =>
  Effect.andThen(until(Effect.map(sql`SELECT FROM outbox`, (rows) => rows.length === 0)), digest)
)

interface Beside<R> {
  /** What limits the write, from before it is sent until its response is there. */
  readonly limit: Effect.Effect<unknown, never, R | Scope.Scope>
  readonly change?: (write: Write) => Write
  readonly only?: (name: string) => boolean
  readonly prepared?: Effect.Effect<unknown, never, R>
}

/** Sends every write beside a limit. Asserts that what was refused is not stored, and what is stored was not refused. */
const statusesBeside = Effect.fnUntraced(
  function*<R>({ change = (write) => write, limit, only = () => true, prepared = Effect.void }: Beside<R>) {
    const { call } = yield* TestServer
    const statuses: Record<string, number> = {}
    for (const { endpoint, name, prepare } of writes.filter(({ name }) => only(name))) {
      if (prepare === undefined) return assert.fail(`test/support/Writes.ts has no write of "${name}"`)
      const { cookie, headers, params, ...write } = change(yield* prepare)
      yield* prepared
      const before = yield* stored
      const sent = call(endpoint.method, pathOf(endpoint.path, params), {
        ...write,
        headers: { "x-forwarded-for": ADDRESS, ...(cookie === undefined ? {} : { cookie }), ...headers }
      })
      const { status, text } = yield* Effect.scoped(Effect.andThen(limit, sent))
      const isStored = (yield* stored) !== before
      const mayBeStored = status < 300 && !Context.get(endpoint.annotations, StoresNothing)
      assert.strictEqual(isStored, mayBeStored, `${name}: ${status} ${text.slice(0, 200)}`)
      if (!Context.get(endpoint.annotations, StoresNothing)) statuses[name] = status
    }
    return statuses
  }
)

const all = (statuses: Readonly<Record<string, number>>, expected: (status: number) => boolean) =>
  assert.deepStrictEqual(Object.entries(statuses).filter(([, status]) => !expected(status)), [])

const LONG = { excludeTestServices: true, timeout: "2 minutes" } as const

layer(serverWith(), LONG)("a write that nothing limits", (it) => {
  it.effect("is stored, of every endpoint", () =>
    Effect.gen(function*() {
      all(yield* statusesBeside({ limit: Effect.void }), (status) => status < 300)
    }))
})

const countedServer = Layer.unwrap(
  Effect.map(StandInRedis, ({ url }) => serverWith({ RATE_LIMITS_ENABLED: "true", REDIS_URL: url }))
).pipe(Layer.provideMerge(StandInRedis.layer))

layer(countedServer, LONG)("a write above the rate limit", (it) => {
  it.effect("is not stored, of every endpoint", () =>
    Effect.gen(function*() {
      const { become } = yield* StandInRedis
      const limit = Effect.acquireRelease(become("full"), () => become("serve"))
      all(yield* statusesBeside({ limit }), (status) => status === 429)
    }))
})

/** A long response to the address of the writes that is not read. */
const unreadResponse = Effect.gen(function*() {
  const id = yield* longRoute(yield* signedIn)
  const { statusCode } = yield* unread(`/routes/${id}`, ADDRESS)
  assert.strictEqual(statusCode, 200)
})

const responsesServer = (perAddress: number) =>
  serverWith().pipe(
    Layer.provide(
      Layer.succeed(LargeResponseLimits, {
        perAddress,
        perNetwork: 100 * MIB,
        anonymous: 100 * MIB,
        total: 100 * MIB
      })
    )
  )

layer(responsesServer(1), LONG)("a write of an address that does not read its responses", (it) => {
  it.effect("is refused before its work, of every endpoint", () =>
    Effect.gen(function*() {
      yield* unreadResponse
      all(yield* statusesBeside({ limit: Effect.void }), (status) => status === 429)
    }).pipe(Effect.scoped))
})

layer(responsesServer(12 * MIB), LONG)("a write whose response is above the share of its address", (it) => {
  const RETURNS_ROUTE = /^(routes (update|restore|batch)|links replaceRouteShareToken)$/

  const longLines = SqlClient.SqlClient.use((sql) =>
    sql`
      UPDATE routes SET geometry = (SELECT max(geometry) FROM routes WHERE length(geometry) > ${MIB})
      WHERE geometry IS NULL`
  ).pipe(Effect.orDie)

  it.effect("is stored, and has its response", () =>
    Effect.gen(function*() {
      yield* unreadResponse
      const only = (name: string) => RETURNS_ROUTE.test(name)
      const statuses = yield* statusesBeside({ limit: Effect.void, only, prepared: longLines })
      assert.lengthOf(Object.keys(statuses), 4)
      all(statuses, (status) => status < 300)
    }).pipe(Effect.scoped))
})

const PADDING = " ".repeat(70_000)

const padded = ({ body, raw, ...write }: Write): Write => {
  if (body !== undefined) return { ...write, raw: PADDING + JSON.stringify(body), headers: JSON_TYPE }
  return typeof raw === "string"
    ? { ...write, raw: raw + PADDING }
    : { ...write, ...(raw === undefined ? {} : { raw }) }
}

layer(
  serverWith({ BODY_MEMORY_BUDGET: "16 MiB" }).pipe(
    Layer.provide(Layer.succeed(BodyAllowance, { grace: Duration.minutes(5), bytesPerSecond: 1 }))
  ),
  LONG
)("a write with a long body above the share of its address", (it) => {
  it.effect("is not stored, and one without is, of every endpoint", () =>
    Effect.gen(function*() {
      const { call } = yield* TestServer
      const rider = yield* signedIn
      const headers = { "Cookie": rider.cookie, "X-Forwarded-For": ADDRESS }
      const part = partlySent("POST /api/v1/routes", " ".repeat(8 * MIB - 1), {
        ...headers,
        "Content-Length": String(8 * MIB)
      })
      const refused = call("POST", "/routes", { raw: PADDING, headers: { ...JSON_TYPE, ...headers } })
      yield* filling(part, Effect.map(refused, ({ status }) => status === 429))
      const statuses = yield* statusesBeside({ limit: Effect.void, change: padded })
      assert.strictEqual(statuses["routes create"], 429)
      assert.strictEqual(statuses["collections create"], 413)
      assert.isBelow(statuses["routes remove"] ?? 0, 300)
    }).pipe(Effect.scoped))
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

const fewConnections = { DATABASE_POOL_SIZE: String(POOL), DATABASE_QUEUE_TIMEOUT: "200 millis" }

layer(serverWith(fewConnections), LONG)("a write that finds no connection of the database", (it) => {
  it.effect("is not stored, of every endpoint", () =>
    Effect.gen(function*() {
      all(yield* statusesBeside({ limit: taken(POOL) }), (status) => status === 503)
    }))
})

/** Takes each connection between two uses of the write, and keeps it once something is stored. */
const takenOnceStored = SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    const before = yield* digest
    const look = Effect.flatMap(digest, (now) => now === before ? Effect.void : Effect.never)
    yield* Effect.forkScoped(Effect.forever(sql.withTransaction(look)))
  })
).pipe(Effect.orDie)

const oneConnection = { DATABASE_POOL_SIZE: "1", DATABASE_QUEUE_TIMEOUT: "1 second" }

layer(serverWith(oneConnection), LONG)("a write that finds no connection of the database once it is stored", (it) => {
  it.effect("needs none, of every endpoint but an import of an account, which is stored in parts", () =>
    Effect.gen(function*() {
      const only = (name: string) => name !== "accountData import"
      all(yield* statusesBeside({ limit: takenOnceStored, only }), (status) => status < 300)
    }))
})

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

const RUNNING = 4

layer(serverWith({ MAX_RUNNING_REQUESTS: String(RUNNING) }), LONG)(
  "a write to a process that has too much to do",
  (it) => {
    it.effect("is not stored, of every endpoint", () =>
      Effect.gen(function*() {
        const { call } = yield* TestServer
        const rider = yield* signedIn
        const limit = Effect.gen(function*() {
          yield* taken(10)
          yield* Effect.replicateEffect(Effect.forkScoped(rider.get("/users/me")), RUNNING)
          yield* saturated
          yield* until(Effect.map(call("GET", "/nothing"), ({ status }) => status === 503))
        })
        all(yield* statusesBeside({ limit }), (status) => status === 503)
      }))
  }
)
