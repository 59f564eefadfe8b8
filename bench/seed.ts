import { PgClient } from "@effect/sql-pg"
import { hash } from "argon2"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"
import { running, SETTINGS, type Settings } from "./processes.ts"

/** Creates a database that never waits for the disk, and lasts until the scope closes. */
export const database = Effect.gen(function*() {
  const directory = join(yield* temporaryDirectory, "postgres")
  return Redacted.value(yield* embeddedPostgres({ directory, durable: false }))
})

/** Runs statements by one connection. */
export const onDatabase = <A, E>(url: string, run: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  SqlClient.SqlClient.use(run).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
    Effect.orDie
  )

/** Returns the id of the PostgreSQL process whose children the others are. */
export const postmaster = (url: string) =>
  Effect.map(
    onDatabase(url, (sql) => sql<{ readonly file: string }>`SELECT pg_read_file('postmaster.pid') AS file`),
    ([row]) => Number(row?.file.split("\n")[0])
  )

/** Autovacuum does it within a minute, and until then PostgreSQL plans for empty tables. */
export const analyzed = (url: string) => onDatabase(url, (sql) => sql`ANALYZE`)

/** All accounts of the benchmarks have this password. */
const PASSWORD = "a long enough password"

/** Adds accounts: `user-1@example.com` and so on if their name is `user`. */
export const addAccounts = Effect.fnUntraced(function*(url: string, name: string, count: number) {
  const digest = yield* Effect.promise(() => hash(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 }))
  yield* onDatabase(url, (sql) =>
    sql`
      INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
      SELECT email, email, now(), ${digest}, ${name}, handle, now(), now()
      FROM generate_series(1, ${count}::int) n, concat(${name}::text, '-', n) handle,
        concat(handle, '@example.com') email`)
})

/** Returns the columns of a route that a copy of its row has as well, but for some. */
export const columnsOfRoutes = (sql: SqlClient.SqlClient, ...others: ReadonlyArray<string>) =>
  Effect.map(
    sql<{ readonly name: string }>`
      SELECT quote_ident(attname) AS name FROM pg_attribute WHERE attrelid = 'routes'::regclass AND attnum > 0
        AND NOT attisdropped AND attgenerated = '' AND NOT ${sql.in("attname", ["id", "share_token", ...others])}`,
    (columns) => columns.map(({ name }) => name)
  )

/** Returns a line with waves and hills that begins at this longitude. */
export const lineOf = (positions: number, west = 9) =>
  Array.from({ length: positions }, (_, n) => [
    Number((west + n / 10_000).toFixed(6)),
    Number((47 + Math.sin(n / 100) / 10).toFixed(6)),
    Number((450 + 100 * Math.cos(n / 300)).toFixed(1))
  ])

export type Credential = Readonly<Record<"authorization", string>>

export const JSON_TYPE = { "content-type": "application/json" }

/** Sends a request and returns the decoded response. Any but a success is a defect. */
export const asked = <A>(url: string, request: RequestInit, schema: Schema.Decoder<A>) =>
  Effect.promise(() =>
    fetch(url, request).then((response) =>
      response.ok ? response.json() : response.text().then((text) => Promise.reject(new Error(`${url}: ${text}`)))
    )
  ).pipe(Effect.flatMap(Schema.decodeUnknownEffect(schema)), Effect.orDie)

export const post = <A>(url: string, headers: Partial<Credential>, body: unknown, schema: Schema.Decoder<A>) =>
  asked(url, { method: "POST", headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(body) }, schema)

const Session = Schema.Struct({ accessToken: Schema.String })

export const bearer = (token: string): Credential => ({ authorization: `Bearer ${token}` })

/** Returns the `Authorization` of a new session. */
export const signedIn = (origin: string, email: string) =>
  Effect.map(
    post(`${origin}/api/v1/auth/login-email`, {}, { email, password: PASSWORD }, Session),
    ({ accessToken }) => bearer(accessToken)
  )

const Minted = Schema.Struct({ token: Schema.String })

/** Returns the `Authorization` of a new personal access token that may write. */
export const tokenOf = (origin: string, session: Credential) =>
  Effect.map(
    post(`${origin}/api/v1/auth/tokens`, session, { name: "bench", scope: "write" }, Minted),
    ({ token }) => bearer(token)
  )

const Page = Schema.Struct({ cursor: Schema.String, hasMore: Schema.Boolean })

/** Returns the cursor at which a copy of an account ends, escaped for a query. */
export const lastCursor = (origin: string, headers: Credential, query = ""): Effect.Effect<string> =>
  Effect.flatMap(
    asked(`${origin}/api/v1/sync?geometry=none&limit=200${query}`, { headers }, Page),
    ({ cursor, hasMore }) => {
      const text = encodeURIComponent(cursor)
      return hasMore ? lastCursor(origin, headers, `&cursor=${text}`) : Effect.succeed(text)
    }
  )

/** Starts the service on a database, and waits until it is ready. */
export const service = Effect.fnUntraced(
  function*(url: string, settings: Settings = {}, flags?: ReadonlyArray<string>) {
    const server = yield* running(
      "src/main.ts",
      "/health/ready",
      { ...SETTINGS, DATABASE_URL: url, ...settings },
      flags
    )
    return { ...server, postgres: yield* postmaster(url) }
  }
)

/** Starts the service on a new database with one account, and signs in. */
export const seeded = Effect.fnUntraced(function*(settings: Settings = {}) {
  const url = yield* database
  const server = yield* service(url, settings)
  yield* addAccounts(url, "bench", 1)
  const email = "bench-1@example.com"
  return { ...server, url, email, session: yield* signedIn(server.origin, email) }
})
