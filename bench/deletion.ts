import { NodeRuntime } from "@effect/platform-node"
import { hash } from "argon2"
import { ConfigProvider, Console, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { join } from "node:path"
import { Client } from "pg"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { databaseLive } from "../src/layers/Database.ts"
import { AccountErasure } from "../src/services/accounts/Deletion.ts"
import { Audit } from "../src/services/identity/Audit.ts"
import { MailQuota } from "../src/services/mail/Quota.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { readyAfter, running, SETTINGS } from "./processes.ts"
import { type Credential, PASSWORD, signedIn } from "./session.ts"
import { P99, quantile } from "./statistics.ts"

/** How many accounts are deleted, each with how many routes of how many positions. */
const DELETED = 5
const ROUTES = 10_000
const POSITIONS = 1_000

const line = JSON.stringify(
  Array.from({ length: POSITIONS }, (_, n) => [Number((9 + n / 10_000).toFixed(6)), 47.123456, 450.1])
)

const query = (client: Client, text: string, values: ReadonlyArray<unknown> = []) =>
  Effect.promise(() => client.query(text, [...values]))

/** Accounts to be deleted, and one that stays and has their public routes in a collection. */
const seed = Effect.fnUntraced(function*(client: Client) {
  const digest = yield* Effect.promise(() => hash(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 }))
  yield* query(
    client,
    `INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
     SELECT e, e, now(), $2, 'x', 'user-' || n, now(), now()
     FROM (SELECT n, 'user-' || n || '@example.com' AS e FROM generate_series(0, $1::int) n) drawn`,
    [DELETED, digest]
  )
  yield* query(
    client,
    `INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, position_count, distance,
       provenance, share_token, published_at, created_at, updated_at)
     SELECT u.id, 'Route ' || n, CASE WHEN n % 5 = 0 THEN 'public' ELSE 'private' END, '{}', false,
       '[{"coord":[9,47]}]', $1, $2, 10000, 'routing-engine', md5(u.id || '-' || n), now(), now(), now()
     FROM users u, generate_series(1, $3::int) n WHERE u.handle <> 'user-0'`,
    [line, POSITIONS, ROUTES]
  )
  yield* query(
    client,
    `WITH made AS (
       INSERT INTO collections (user_id, name, visibility, share_token, created_at, updated_at)
       SELECT id, 'Theirs', 'private', md5('collection'), now(), now() FROM users WHERE handle = 'user-0' RETURNING id
     )
     INSERT INTO collection_routes (collection_id, route_id, position)
     SELECT made.id, r.id, r.n FROM made,
       (SELECT id, row_number() OVER (ORDER BY id) AS n FROM routes WHERE visibility = 'public' LIMIT 1000) r`
  )
  yield* query(client, "VACUUM (ANALYZE) users, routes, collections, collection_routes")
})

const call = (origin: string, method: string, path: string, credential: Credential, body: string | undefined) =>
  Effect.promise(async () => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...credential
      },
      ...(body === undefined ? {} : { body })
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
    return await response.json()
  })

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const started = performance.now()
    return Effect.map(effect, () => performance.now() - started)
  })

const emailOf = (n: number) => `user-${n}@example.com`

/** Another user writes one route after the other, each write timed. */
const writing = (origin: string, credential: Credential, times: Array<number>) =>
  timed(
    call(
      origin,
      "POST",
      "/routes",
      credential,
      `{"name":"x","waypoints":[{"coord":[9,47]}],"geometry":[[9,47],[9.1,47]]}`
    )
  ).pipe(
    Effect.tap((time) => Effect.sync(() => times.push(time))),
    Effect.forever
  )

const p99 = (times: ReadonlyArray<number>) => quantile(times, P99)
const max = (times: ReadonlyArray<number>) => Math.max(...times)
const ms = (time: number) => `${time.toFixed(0)} ms`
const all = (times: ReadonlyArray<number>) => times.map(ms).join(", ")

const erasing = (url: string) =>
  AccountErasure.use(({ eraseDue }) => timed(eraseDue)).pipe(
    Effect.provide(
      AccountErasure.layer.pipe(
        Layer.provide([Audit.layer, MailQuota.layer]),
        Layer.provide(databaseLive),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ ...SETTINGS, DATABASE_URL: url })))
      )
    )
  )

const deletion = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const url = Redacted.value(yield* embeddedPostgres({ directory: join(directory, "postgres"), durable: true }))
  const settings = { ...SETTINGS, DATABASE_URL: url, ERASURE_SWEEP_INTERVAL: "1 day" }
  const { origin, started } = yield* running("src/main.ts", settings)
  yield* readyAfter(`${origin}/health/ready`, started)
  const client = new Client({ connectionString: url })
  yield* Effect.acquireRelease(Effect.promise(() => client.connect()), () => Effect.promise(() => client.end()))
  yield* seed(client)

  const deleted = Array.from({ length: DELETED }, (_, n) => n + 1)
  const credentials = yield* Effect.forEach(deleted, (n) => signedIn(origin, emailOf(n)))
  const deletions = yield* Effect.forEach(
    credentials,
    (credential) => timed(call(origin, "DELETE", "/users/me", credential, undefined))
  )
  yield* Console.log(`DELETE /users/me with ${ROUTES} routes of ${POSITIONS} positions: ${all(deletions)}`)

  const writer = yield* signedIn(origin, emailOf(0))
  const idle: Array<number> = []
  const alone = yield* Effect.forkChild(writing(origin, writer, idle))
  yield* Effect.sleep("3 seconds")
  yield* Fiber.interrupt(alone)

  const beside: Array<number> = []
  const writes = yield* Effect.forkChild(writing(origin, writer, beside))
  const erasures = yield* Effect.forEach(
    deleted,
    (n) =>
      query(client, `UPDATE users SET deletion_requested_at = now() - interval '31 days' WHERE handle = $1`, [
        `user-${n}`
      ]).pipe(Effect.andThen(erasing(url)))
  )
  yield* Fiber.interrupt(writes)
  const { rows } = yield* query(client, "SELECT count(*)::int AS left FROM users")
  yield* Console.log(`erasure of such an account, opening a pool included: ${all(erasures)}`)
  yield* Console.log(
    `another user's POST /routes: idle p99 ${ms(p99(idle))}, max ${ms(max(idle))}; beside the erasures p99 ${
      ms(p99(beside))
    }, max ${ms(max(beside))} (${idle.length} and ${beside.length} writes)`
  )
  yield* Console.log(
    `users left: ${Schema.decodeUnknownSync(Schema.Tuple([Schema.Struct({ left: Schema.Int })]))(rows)[0].left}`
  )
}).pipe(Effect.scoped)

NodeRuntime.runMain(deletion)
