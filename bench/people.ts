import { Effect, Schema } from "effect"
import { decodeJwt, SignJWT } from "jose"
import { SETTINGS } from "./processes.ts"
import {
  addAccounts,
  analyzed,
  bearer,
  columnsOfRoutes,
  type Credential,
  lastCursor,
  lineOf,
  onDatabase,
  post,
  signedIn,
  tokenOf
} from "./seed.ts"

export const ACCOUNTS = 100

/** Each account has these routes, the newest last, which fill its lists. The name of a route begins with its kind. */
export const PLAN = [
  { kind: "short", positions: 50, visibility: "unlisted", copies: 4 },
  { kind: "long", positions: 5000, visibility: "unlisted", copies: 1 },
  { kind: "open", positions: 50, visibility: "public", copies: 4 },
  { kind: "day", positions: 1000, visibility: "unlisted", copies: 100 }
] as const

/** The second words of names take turns. */
export const WORDS = ["river", "forest", "lake", "hill", "harbour", "meadow", "ridge", "valley", "island", "castle"]

/** Returns the body of a new route; each `turn` begins at another longitude. */
export const newRoute = (name: string, positions: number, visibility: string, turn = 0) => ({
  name,
  visibility,
  waypoints: [{ coord: [9.5209, 47.1415] }, { coord: [9.53, 47.15] }],
  geometry: lineOf(positions, 9 + turn / 10)
})

export const gpxOf = (positions: number, west?: number) => {
  const points = lineOf(positions, west).map(([lon, lat, ele]) =>
    `<trkpt lat="${lat}" lon="${lon}"><ele>${ele}</ele></trkpt>`
  )
  return `<gpx version="1.1" creator="bench"><trk><name>A day</name><trkseg>${points.join("\n")}</trkseg></trk></gpx>`
}

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

/** Returns one of a person's routes of a kind, in turn. */
export const routeOf = ({ routes }: Person, kind: (typeof PLAN)[number]["kind"], turn: number) => {
  const all = routes[kind] ?? []
  return all[turn % all.length] ?? { id: 0, shareToken: "" }
}

const Created = Schema.Struct({ id: Schema.Int })

/** Stores a route of each kind by the service, and copies the stored rows. */
const copied = Effect.fnUntraced(function*(url: string, origin: string) {
  yield* addAccounts(url, "person", ACCOUNTS)
  const session = yield* signedIn(origin, "person-1@example.com")
  const templates = yield* Effect.forEach(PLAN, ({ copies, kind, positions, visibility }) => {
    const stored = post(`${origin}/api/v1/routes`, session, newRoute(kind, positions, visibility), Created)
    return Effect.map(stored, ({ id }) => ({ id, copies }))
  })
  const rows = yield* onDatabase(url, (sql) =>
    Effect.gen(function*() {
      const columns = yield* columnsOfRoutes(sql, "user_id", "name")
      for (const { copies, id } of templates) {
        yield* sql`
          INSERT INTO routes (user_id, share_token, name, ${sql.literal(columns.join(", "))})
          SELECT u.id, md5(r.id || '-' || u.id || '-' || n), r.name || ' ' || (${WORDS}::text[])[1 + n % ${WORDS.length}],
            ${sql.literal(columns.map((name) => `r.${name}`).join(", "))}
          FROM routes r, users u, generate_series(1, ${copies}::int) n WHERE r.id = ${id}`
      }
      return yield* sql`
        SELECT id::int, email, json_object_agg(kind, refs)::text AS routes FROM (
          SELECT u.id, u.email, split_part(r.name, ' ', 1) AS kind,
            json_agg(json_build_object('id', r.id, 'shareToken', r.share_token)) AS refs
          FROM users u JOIN routes r ON r.user_id = u.id GROUP BY 1, 2, 3
        ) kinds GROUP BY id, email ORDER BY id`
    }))
  return decodeOwners(rows)
})

/** Signs the session's token again for a day: a bench takes longer than a quarter of an hour. */
const lasting = ({ authorization }: Credential) =>
  Effect.map(
    Effect.promise(() =>
      new SignJWT(decodeJwt(authorization.slice("Bearer ".length))).setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setExpirationTime("1 day").sign(new TextEncoder().encode(SETTINGS.JWT_SECRET))
    ),
    bearer
  )

/** Fills a service without rate limits: each account has the routes of `PLAN`, a session, a token and a copy of all. */
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
