import autocannon from "autocannon"
import { Effect, Schema } from "effect"
import { processorTime } from "./processes.ts"
import { type Credential, JSON_TYPE, lineOf, post, signedIn, tokenOf } from "./seed.ts"

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

const CONNECTIONS = 16

const SIZES = [50, 1000, 5000]

const LISTED = 100

const newRoute = (positions: number, visibility: string) =>
  JSON.stringify({
    name: `${positions} positions`,
    visibility,
    waypoints: [{ coord: [9.5209, 47.1415] }, { coord: [9.53, 47.15], name: "Break" }],
    geometry: lineOf(positions)
  })

const Created = Schema.Struct({ id: Schema.Int, shareToken: Schema.String })

/** Fills the account of `seed.ts` by the service: unlisted routes of each size, then a page of long private ones. */
export const seeded = Effect.fnUntraced(function*(origin: string): Effect.fn.Return<Seeded> {
  const session = yield* signedIn(origin, "bench@example.com")
  const token = yield* tokenOf(origin, session)
  const store = (body: string) => post(`${origin}/api/v1/routes`, session, body, Created)
  const routes = yield* Effect.forEach(
    SIZES,
    (size) => Effect.map(store(newRoute(size, "unlisted")), (route) => [size, route] as const)
  )
  yield* Effect.replicateEffect(store(newRoute(1000, "private")), LISTED)
  return { session, token, routes: Object.fromEntries(routes) }
})

const storing = (positions: number, session: Credential, connections = CONNECTIONS): Compared => ({
  name: `POST /routes, ${positions} positions`,
  method: "POST",
  path: "/api/v1/routes",
  headers: { ...session, ...JSON_TYPE },
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

/** A server that is compared. */
export interface Asked {
  readonly name: string
  readonly origin: string
  readonly pid: number
}

export interface Figures {
  /** Requests a second. */
  readonly rate: number
  /** Processor time of the server's process, in microseconds a request. */
  readonly cost: number
}

/** Sends one request again and again for some seconds. Any response but a success ends the bench. */
export const asked = Effect.fnUntraced(function*(
  { name, origin, pid }: Asked,
  { body, connections = CONNECTIONS, headers, method = "GET", name: request, path }: Compared,
  seconds: number
): Effect.fn.Return<Figures> {
  const before = yield* processorTime(pid)
  const sent = { ...(headers === undefined ? {} : { headers }), ...(body === undefined ? {} : { body }) }
  const load = { url: `${origin}${path}`, method, connections, duration: seconds, ...sent }
  const { errors, non2xx, requests } = yield* Effect.promise(() => autocannon(load))
  if (non2xx + errors > 0) {
    const text = yield* Effect.promise(() => fetch(load.url, { method, ...sent }).then((response) => response.text()))
    return yield* Effect.die(
      new Error(`${name}, ${request}: ${non2xx} responses were not 2xx, ${errors} errors; ${text.slice(0, 200)}`)
    )
  }
  return { rate: requests.average, cost: 1000 * ((yield* processorTime(pid)) - before) / requests.total }
})
