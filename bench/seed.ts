import { argon2id, hash } from "argon2"
import { Effect, Redacted, Schema } from "effect"
import { join } from "node:path"
import { Client } from "pg"
import { embeddedPostgres } from "../development/EmbeddedDatabase.ts"
import { temporaryDirectory } from "../test/support/TemporaryDirectory.ts"

/** A new database that never waits for the disk, until the scope closes. */
export const database = Effect.gen(function*() {
  const directory = join(yield* temporaryDirectory, "postgres")
  return Redacted.value(yield* embeddedPostgres({ directory, durable: false }))
})

/** A connection until the scope closes. */
export const connected = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Autovacuum does so within a minute; until then PostgreSQL plans for empty tables. */
export const analyzed = (url: string) =>
  connected(url).pipe(
    Effect.flatMap((client) => Effect.promise(() => client.query("ANALYZE"))),
    Effect.scoped,
    Effect.asVoid
  )

/** All accounts of the benchmarks have it. */
const PASSWORD = "a long enough password"

export const passwordHash = Effect.promise(() =>
  hash(PASSWORD, { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
)

/** A line with waves and hills that begins at this longitude. */
export const lineOf = (positions: number, west = 9) =>
  Array.from({ length: positions }, (_, n) => [
    Number((west + n / 10_000).toFixed(6)),
    Number((47 + Math.sin(n / 100) / 10).toFixed(6)),
    Number((450 + 100 * Math.cos(n / 300)).toFixed(1))
  ])

/** The account bench@example.com with a public route of 5,000 positions. */
export const seed = Effect.fnUntraced(function*(url: string) {
  const client = yield* connected(url)
  const digest = yield* passwordHash
  yield* Effect.promise(() =>
    client.query(
      `WITH owner AS (
         INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
         VALUES ('bench@example.com', 'bench@example.com', now(), $1, 'Bench', 'bench', now(), now()) RETURNING id
       )
       INSERT INTO routes (user_id, name, visibility, tags, favourite, waypoints, geometry, provenance, share_token,
         published_at, created_at, updated_at)
       SELECT id, 'Five thousand positions', 'public', '{}', false, '[{"coord":[9,47]}]', $2, 'routing-engine', $3,
         now(), now(), now() FROM owner`,
      [digest, JSON.stringify(lineOf(5000)), "a".repeat(32)]
    )
  )
}, Effect.scoped)

export type Credential = Readonly<Record<"authorization", string>>

export const JSON_TYPE = { "content-type": "application/json" }

/** The decoded response to a `POST`. */
export const post = <A>(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  schema: Schema.Decoder<A>
) =>
  Effect.promise(() =>
    fetch(url, { method: "POST", headers: { ...headers, ...JSON_TYPE }, body }).then((response) =>
      response.ok ? response.json() : response.text().then((text) => Promise.reject(new Error(`${url}: ${text}`)))
    )
  ).pipe(Effect.flatMap(Schema.decodeUnknownEffect(schema)), Effect.orDie)

const Session = Schema.Struct({ accessToken: Schema.String })

/** The `Authorization` of a new session. */
export const signedIn = (
  origin: string,
  email: string,
  headers: Readonly<Record<string, string>> = {}
): Effect.Effect<Credential> =>
  Effect.map(
    post(`${origin}/api/v1/auth/login-email`, headers, JSON.stringify({ email, password: PASSWORD }), Session),
    ({ accessToken }) => ({ authorization: `Bearer ${accessToken}` })
  )

const Minted = Schema.Struct({ token: Schema.String })

/** The `Authorization` of a new personal access token that may write. */
export const tokenOf = (origin: string, session: Credential): Effect.Effect<Credential> =>
  Effect.map(
    post(`${origin}/api/v1/auth/tokens`, session, JSON.stringify({ name: "bench", scope: "write" }), Minted),
    ({ token }) => ({ authorization: `Bearer ${token}` })
  )

const Page = Schema.Struct({ cursor: Schema.String, hasMore: Schema.Boolean })

/** Returns the cursor at which a copy of an account ends. */
export const lastCursor = (origin: string, headers: Credential, query = ""): Effect.Effect<string> =>
  Effect.promise(() =>
    fetch(`${origin}/api/v1/sync?geometry=none&limit=200${query}`, { headers }).then((r) => r.json())
  )
    .pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Page)),
      Effect.orDie,
      Effect.flatMap(({ cursor, hasMore }) =>
        hasMore ? lastCursor(origin, headers, `&cursor=${encodeURIComponent(cursor)}`) : Effect.succeed(cursor)
      )
    )
