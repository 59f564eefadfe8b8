import { Effect, Schema } from "effect"
import { decodeJwt, SignJWT } from "jose"
import { SETTINGS } from "./processes.ts"
import {
  analyzed,
  connected,
  type Credential,
  lastCursor,
  lineOf,
  passwordHash,
  post,
  signedIn,
  tokenOf
} from "./seed.ts"

export const ACCOUNTS = 100

/** Each account has these routes, the newest last: those of 1,000 positions fill its lists. The name of a route begins with its kind. */
export const PLAN = [
  { kind: "short", positions: 50, visibility: "unlisted", copies: 4 },
  { kind: "long", positions: 5000, visibility: "unlisted", copies: 1 },
  { kind: "open", positions: 50, visibility: "public", copies: 4 },
  { kind: "day", positions: 1000, visibility: "unlisted", copies: 100 }
] as const

/** The second word of a name, in turn. */
export const WORDS = ["river", "forest", "lake", "hill", "harbour", "meadow", "ridge", "valley", "island", "castle"]

/** The body of a new route; each `turn` begins elsewhere. */
export const newRoute = (name: string, positions: number, visibility: string, turn = 0) => ({
  name,
  visibility,
  waypoints: [{ coord: [9.5209, 47.1415] }, { coord: [9.53, 47.15] }],
  geometry: lineOf(positions, 9 + turn / 10)
})

const Ref = Schema.Struct({ id: Schema.Union([Schema.Int, Schema.String]), shareToken: Schema.String })

/** An account with its routes of each kind. */
const Owner = Schema.Struct({
  id: Schema.Union([Schema.Int, Schema.String]),
  email: Schema.String,
  routes: Schema.fromJsonString(Schema.Record(Schema.String, Schema.Array(Ref)))
})

export const decodeOwners = Schema.decodeUnknownSync(Schema.Array(Owner))

export type Person = typeof Owner.Type & {
  readonly session: Credential
  readonly token: Credential
  /** Its copy of the account ends at this cursor. */
  readonly cursor: string
}

/** One of a person's routes of a kind, in turn. */
export const routeOf = ({ routes }: Person, kind: (typeof PLAN)[number]["kind"], turn: number) => {
  const all = routes[kind] ?? []
  return all[turn % all.length] ?? { id: 0, shareToken: "" }
}

const Created = Schema.Struct({ id: Schema.Int })

/** Stores one route of each kind by the service, and copies it as it is stored. */
const copied = Effect.fnUntraced(function*(url: string, origin: string) {
  const client = yield* connected(url)
  const ask = (text: string, values: ReadonlyArray<unknown> = []) =>
    Effect.map(Effect.promise(() => client.query(text, [...values])), ({ rows }) => rows)
  yield* ask(
    `INSERT INTO users (email, email_key, email_verified_at, password_hash, name, handle, created_at, updated_at)
     SELECT e, e, now(), $1, 'Person', 'person-' || n, now(), now()
     FROM (SELECT n, 'person-' || n || '@example.com' AS e FROM generate_series(1, $2::int) n) drawn`,
    [yield* passwordHash, ACCOUNTS]
  )
  const session = yield* signedIn(origin, "person-1@example.com")
  const columns = yield* ask(
    `SELECT quote_ident(attname) AS name FROM pg_attribute WHERE attrelid = 'routes'::regclass AND attnum > 0
       AND NOT attisdropped AND attgenerated = '' AND attname NOT IN ('id', 'user_id', 'share_token', 'name')`
  )
  const names = columns.map(({ name }) => name)
  for (const { copies, kind, positions, visibility } of PLAN) {
    const body = JSON.stringify(newRoute(kind, positions, visibility))
    const { id } = yield* post(`${origin}/api/v1/routes`, session, body, Created)
    yield* ask(
      `INSERT INTO routes (user_id, share_token, name, ${names.join(", ")})
       SELECT u.id, md5(r.id || '-' || u.id || '-' || n), r.name || ' ' || ($2::text[])[1 + n % cardinality($2)],
         ${names.map((name) => `r.${name}`).join(", ")}
       FROM routes r, users u, generate_series(1, $3::int) n WHERE r.id = $1`,
      [id, WORDS, copies]
    )
  }
  const rows = yield* ask(
    `SELECT id::int, email, json_object_agg(kind, refs)::text AS routes FROM (
       SELECT u.id, u.email, split_part(r.name, ' ', 1) AS kind,
         json_agg(json_build_object('id', r.id, 'shareToken', r.share_token)) AS refs
       FROM users u JOIN routes r ON r.user_id = u.id GROUP BY 1, 2, 3
     ) kinds GROUP BY id, email ORDER BY id`
  )
  return decodeOwners(rows)
}, Effect.scoped)

/** The session's token as it is signed, but for a day: a bench takes longer than a quarter of an hour. */
const lasting = ({ authorization }: Credential) =>
  Effect.map(
    Effect.promise(() =>
      new SignJWT(decodeJwt(authorization.slice("Bearer ".length))).setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setExpirationTime("1 day").sign(new TextEncoder().encode(SETTINGS.JWT_SECRET))
    ),
    (token): Credential => ({ authorization: `Bearer ${token}` })
  )

/** Fills a service without rate limits: accounts as `PLAN` has it, with a session, a token and a copy of all. */
export const peopled = Effect.fnUntraced(function*(url: string, origin: string) {
  const owners = yield* copied(url, origin)
  yield* analyzed(url)
  return yield* Effect.forEach(owners, (owner) =>
    Effect.gen(function*() {
      const session = yield* Effect.flatMap(signedIn(origin, owner.email), lasting)
      const token = yield* tokenOf(origin, session)
      return { ...owner, session, token, cursor: yield* lastCursor(origin, session) } satisfies Person
    }), { concurrency: 2 })
})
