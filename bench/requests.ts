import { Effect, Schema } from "effect"
import { type Credential, signedIn } from "./session.ts"

/** A request that servers are compared by, and how many times as fast as each peer ours has to be. */
export interface Compared {
  readonly name: string
  readonly method?: "GET" | "POST"
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** How many are asked at once, where more would be refused as too much heavy work. */
  readonly connections?: number
  readonly full: number
  readonly bare?: number
}

/** Every path is asked of each server at the same place, of the same rows. */
interface Seeded {
  readonly session: Credential
  readonly token: Credential
  /** The share token and id of a route with so many positions. */
  readonly routes: Readonly<Record<number, { readonly id: number; readonly shareToken: string }>>
}

export const CONNECTIONS = 16

const SIZES = [50, 1000, 5000]

const LISTED = 100

const json = { "content-type": "application/json" }

const newRoute = (positions: number, visibility: string) =>
  JSON.stringify({
    name: `${positions} positions`,
    visibility,
    waypoints: [{ coord: [9.5209, 47.1415] }, { coord: [9.53, 47.15], name: "Break" }],
    geometry: Array.from({ length: positions }, (_, n) => [
      Number((9 + n / 10_000).toFixed(6)),
      Number((47 + Math.sin(n / 100) / 10).toFixed(6)),
      Number((450 + 100 * Math.cos(n / 300)).toFixed(1))
    ])
  })

const Created = Schema.Struct({ id: Schema.Int, shareToken: Schema.String })

const Minted = Schema.Struct({ token: Schema.String })

const post = <A>(url: string, headers: Credential, body: string, schema: Schema.Decoder<A>) =>
  Effect.promise(() =>
    fetch(url, { method: "POST", headers: { ...headers, ...json }, body }).then((response) => response.json())
  ).pipe(Effect.flatMap(Schema.decodeUnknownEffect(schema)), Effect.orDie)

/** Fills the account of `seed.ts` by the service: unlisted routes of each size, then a page of long private ones. */
export const seeded = Effect.fnUntraced(function*(origin: string): Effect.fn.Return<Seeded> {
  const session = yield* signedIn(origin, "bench@example.com")
  const { token } = yield* post(
    `${origin}/api/v1/auth/tokens`,
    session,
    JSON.stringify({ name: "bench", scope: "write" }),
    Minted
  )
  const routes = yield* Effect.forEach(SIZES, (size) =>
    Effect.map(
      post(`${origin}/api/v1/routes`, session, newRoute(size, "unlisted"), Created),
      (route) => [size, route] as const
    ))
  const long = newRoute(1000, "private")
  yield* Effect.forEach(Array.from({ length: LISTED }), () => post(`${origin}/api/v1/routes`, session, long, Created))
  return { session, token: { authorization: `Bearer ${token}` }, routes: Object.fromEntries(routes) }
})

const storing = (positions: number, headers: Credential, connections = CONNECTIONS): Compared => ({
  name: `POST /routes, ${positions} positions`,
  method: "POST",
  path: "/api/v1/routes",
  headers: { ...headers, ...json },
  body: newRoute(positions, "private"),
  connections,
  full: 1.1
})

/** What is compared. Those that the bare peer has, too, need no credential. */
export const comparedRequests = ({ routes, session, token }: Seeded): ReadonlyArray<Compared> => {
  const byToken = (size: number) => `/api/v1/routes/${routes[size]?.shareToken ?? ""}`
  const own = `/api/v1/routes/${routes[50]?.id ?? 0}`
  return [
    { name: "GET /health/live", path: "/health/live", full: 1.2 },
    { name: "GET /routes/{token}, 50 positions", path: byToken(50), full: 1.2, bare: 0.6 },
    { name: "GET /routes/{id}, session, 50 positions", path: own, headers: session, full: 1.2 },
    { name: "GET /routes/{id}, PAT, 50 positions", path: own, headers: token, full: 1.2 },
    { name: "GET /users/me, session", path: "/api/v1/users/me", headers: session, full: 1.2 },
    { name: "GET /routes/{token}, 1,000 positions", path: byToken(1000), full: 2 },
    { name: "GET /routes/{token}, 5,000 positions", path: byToken(5000), full: 4 },
    { name: "GET /routes?limit=20, 1,000 positions", path: "/api/v1/routes?limit=20", headers: session, full: 3 },
    { name: "GET /routes?limit=100, 1,000 positions", path: "/api/v1/routes?limit=100", headers: session, full: 3 },
    storing(100, session),
    storing(1000, session),
    storing(20_000, session, 4)
  ]
}
