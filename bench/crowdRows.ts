import type { Call } from "./load.ts"
import { ACCOUNTS, gpxOf, newRoute, type Person, routeOf, WORDS } from "./people.ts"
import { type Credential, JSON_TYPE } from "./seed.ts"

type Asked = Omit<Call, "url"> & { readonly path: string }

/** Returns a request of one account; `turn` chooses among its routes, words and bodies. */
type Asks = (person: Person, turn: number) => Asked

export interface Row {
  readonly name: string
  readonly asks: Asks
  /** These peers have the same endpoint on the same rows; the full one if absent. */
  readonly peers?: ReadonlyArray<"full" | "bare">
  /** PocketBase has this request for the same rows. */
  readonly pocketbase?: Asks
  /** The rate limits are on, and the load stays within them. */
  readonly isLimited?: true
  /** The row has fewer clients, since more would be refused as too much heavy work. */
  readonly clients?: number
  /** The row is to reach these ratios: processor time of the full peer, and throughput against PocketBase. */
  readonly goals?: readonly [full?: number | undefined, pocketbase?: number]
}

const API = "/api/v1"
const RECORDS = "/api/collections/routes/records"
const FIELDS =
  "id,owner,name,description,activity,visibility,tags,favourite,waypoints,distance,shareToken,created,updated"

const records = (text: string, more: string) =>
  `${RECORDS}?sort=-created,-id&${more}&filter=${encodeURIComponent(text)}`

const store = (path: string, credential: Credential, body: string, type = JSON_TYPE): Asked => ({
  method: "POST",
  path,
  headers: { ...credential, ...type },
  body
})

/** Makes some bodies, of which a turn takes one. */
const bodies = (of: (turn: number) => string) => {
  const texts = Array.from({ length: 4 }, (_, turn) => of(turn))
  return (turn: number) => texts[turn % texts.length] ?? ""
}

const byToken = (kind: "short" | "day" | "long", positions: string, goals: Row["goals"] & {}): Row => ({
  name: `route by token, ${positions} positions`,
  asks: (person, turn) => ({ path: `${API}/routes/${routeOf(person, kind, turn).shareToken}` }),
  peers: ["full", "bare"],
  pocketbase: (person, turn) => {
    const { id, shareToken } = routeOf(person, kind, turn)
    return { path: `${RECORDS}/${id}?token=${shareToken}` }
  },
  goals
})

/** Reads a path by the session of a person. */
const own = (pathOf: (person: Person, turn: number) => string): Asks => (person, turn) => ({
  path: pathOf(person, turn),
  headers: person.session
})

const list = (name: string, query: string, pocketbase: string, more: Omit<Row, "name" | "asks">): Row => ({
  name,
  asks: own((_, turn) => `${API}/routes?${query.replace("WORD", WORDS[turn] ?? "")}`),
  pocketbase: own(({ id }, turn) => {
    const found = query.includes("WORD") ? ` && name~'${WORDS[turn]}'` : ""
    return records(`owner='${id}'${found}`, pocketbase)
  }),
  ...more
})

const storing = (positions: number, goals: Row["goals"] & {}, more: Pick<Row, "clients"> = {}): Row => {
  const body = bodies((turn) => JSON.stringify(newRoute(`Stored ${WORDS[turn]}`, positions, "private", turn)))
  return {
    name: `store a route of ${positions.toLocaleString("en")} positions`,
    asks: ({ session }, turn) => store(`${API}/routes`, session, body(turn)),
    peers: ["full", "bare"],
    pocketbase: ({ id, session }, turn) => store(RECORDS, session, `{"owner":"${id}",${body(turn).slice(1)}`),
    goals,
    ...more
  }
}

const twenty = <A>(of: (route: ReturnType<typeof newRoute>) => A, turn: number) =>
  Array.from({ length: 20 }, () => of(newRoute("One of 20", 100, "private", turn)))

const batch = bodies((turn) => JSON.stringify({ operations: twenty((route) => ({ op: "create", route }), turn) }))

const gpx = bodies((turn) => gpxOf(2000, 9 + turn / 10))

const ownRoute = own((person, turn) => `${API}/routes/${routeOf(person, "short", turn).id}`)

/** Reads come first, since a write changes what they find. */
export const ROWS: ReadonlyArray<Row> = [
  {
    name: "`GET /health/live`",
    asks: () => ({ path: "/health/live" }),
    peers: ["full", "bare"],
    pocketbase: () => ({ path: "/api/health" }),
    isLimited: true
  },
  byToken("short", "50", [1.15, 1.1]),
  byToken("day", "1,000", [2, 2]),
  byToken("long", "5,000", [4, 3]),
  {
    name: "own route by session, 50 positions",
    asks: ownRoute,
    pocketbase: own((person, turn) => `${RECORDS}/${routeOf(person, "short", turn).id}`),
    goals: [1.5, 1.2]
  },
  {
    name: "own route by token, 50 positions",
    asks: (person, turn) => ({ ...ownRoute(person, turn), headers: person.token }),
    goals: [1.5]
  },
  {
    name: "`GET /users/me` by session",
    asks: own(() => `${API}/users/me`),
    pocketbase: own(({ id }) => `/api/collections/users/records/${id}`),
    goals: [1.5, 1.2]
  },
  list("list of 20 routes of 1,000 positions", "limit=20", "perPage=20", { goals: [4, 4] }),
  list("list of 100 routes of 1,000 positions", "limit=100", "perPage=100", { goals: [6, 4], clients: 4 }),
  list("list of 20 routes without geometry", "limit=20&geometry=none", `perPage=20&fields=${FIELDS}`, {
    goals: [undefined, 8]
  }),
  list("search `q`, 20 without geometry", "limit=20&geometry=none&q=WORD", `perPage=20&fields=${FIELDS}`, {}),
  {
    name: "`GET /sync` with nothing new",
    asks: own(({ cursor }) => `${API}/sync?cursor=${cursor}`),
    peers: []
  },
  {
    name: "GPX of 1,000 positions",
    asks: (person, turn) => ({ path: `${API}/routes/${routeOf(person, "day", turn).shareToken}/gpx` }),
    peers: [],
    clients: 4
  },
  {
    name: "public list in a box, 20 without geometry",
    asks: (_, turn) => ({
      path: `${API}/routes/public?limit=20&geometry=none&gate=public&bbox=${9 - turn / 100},46.9,9.2,47.2`
    }),
    pocketbase: (_, turn) => {
      const box = `west<=9.2 && east>=${9 - turn / 100} && south<=47.2 && north>=46.9`
      return { path: records(`visibility='public' && ${box}`, `perPage=20&fields=${FIELDS}`) }
    }
  },
  storing(100, [0.9, 1.1]),
  storing(1000, [1, 2]),
  storing(20_000, [1.8, 5], { clients: 2 }),
  {
    name: "import of a GPX of 2,000 points",
    asks: ({ token }, turn) =>
      store(`${API}/routes/import?duplicates=allow`, token, gpx(turn), { "content-type": "application/gpx+xml" }),
    peers: [],
    clients: 2
  },
  {
    name: "batch of 20 routes of 100 positions",
    asks: ({ session }, turn) => store(`${API}/routes/batch`, session, batch(turn)),
    peers: [],
    pocketbase: ({ id, session }, turn) => {
      const requests = twenty((route) => ({ method: "POST", url: RECORDS, body: { owner: id, ...route } }), turn)
      return store("/api/batch", session, JSON.stringify({ requests }))
    },
    clients: 4
  }
]

const ADDRESSES = 400

const addressOf = (n: number) => ({ "x-forwarded-for": `198.18.${n >> 8}.${n & 255}` })

/** Returns a call for each address; the accounts take turns. */
export const callsOf = (origin: string, people: ReadonlyArray<Person>, asks: Row["asks"]) =>
  Array.from({ length: ADDRESSES / ACCOUNTS }, (_, turn) =>
    people.map((person, n): Call => {
      const { headers, path, ...rest } = asks(person, turn)
      return { ...rest, url: `${origin}${path}`, headers: { ...headers, ...addressOf(turn * ACCOUNTS + n) } }
    })).flat()
