import type { Call } from "./load.ts"
import { ACCOUNTS, newRoute, type Person, routeOf, WORDS } from "./people.ts"
import { JSON_TYPE, lineOf } from "./seed.ts"

/** A request for one account; `turn` chooses among its routes, words and bodies. */
type Asks = (person: Person, turn: number) => Omit<Call, "url"> & { readonly path: string }

export interface Row {
  readonly name: string
  readonly asks: Asks
  /** The peers that have the same endpoint on the same rows. */
  readonly peers: ReadonlyArray<"full" | "bare">
  /** The same request to PocketBase. */
  readonly pocketbase?: Asks
  /** The load is within the rate limits, which are on. */
  readonly isLimited?: true
  /** The number of clients where more would be refused as too much heavy work. */
  readonly clients?: number
  /** Processor time of the full peer, and throughput against PocketBase, to reach. */
  readonly goals?: readonly [full?: number | undefined, pocketbase?: number]
}

const BODIES = 4

const bodies = (of: (turn: number) => string) => Array.from({ length: BODIES }, (_, turn) => of(turn))

const API = "/api/v1"
const RECORDS = "/api/collections/routes/records"
const FIELDS =
  "id,owner,name,description,activity,visibility,tags,favourite,waypoints,distance,shareToken,created,updated"
const filter = (text: string) => `filter=${encodeURIComponent(text)}`

const byToken = (kind: "short" | "day" | "long", positions: string, goals: NonNullable<Row["goals"]>): Row => ({
  name: `route by token, ${positions} positions`,
  asks: (person, turn) => ({ path: `${API}/routes/${routeOf(person, kind, turn).shareToken}` }),
  peers: ["full", "bare"],
  pocketbase: (person, turn) => {
    const { id, shareToken } = routeOf(person, kind, turn)
    return { path: `${RECORDS}/${id}?token=${shareToken}` }
  },
  isLimited: true,
  goals
})

const own = (by: "session" | "token"): Row => ({
  name: `own route by ${by}, 50 positions`,
  asks: (person, turn) => ({ path: `${API}/routes/${routeOf(person, "short", turn).id}`, headers: person[by] }),
  peers: ["full"],
  ...(by === "token" ? {} : {
    pocketbase: (person, turn) => ({
      path: `${RECORDS}/${routeOf(person, "short", turn).id}`,
      headers: person.session
    })
  }),
  goals: by === "token" ? [1.5] : [1.5, 1.2]
})

const list = (name: string, query: string, pocketbase: string, goals: NonNullable<Row["goals"]>): Row => ({
  name: `list of ${name}`,
  asks: ({ session }) => ({ path: `${API}/routes?${query}`, headers: session }),
  peers: ["full"],
  pocketbase: ({ id, session }) => ({
    path: `${RECORDS}?sort=-created,-id&${filter(`owner='${id}'`)}&${pocketbase}`,
    headers: session
  }),
  goals
})

const storing = (positions: number, goals: NonNullable<Row["goals"]>, clients?: number): Row => {
  const texts = bodies((turn) => JSON.stringify(newRoute(`Stored ${WORDS[turn]}`, positions, "private", turn)))
  return {
    name: `store a route of ${positions.toLocaleString("en")} positions`,
    asks: ({ session }, turn) => ({
      method: "POST",
      path: `${API}/routes`,
      headers: { ...session, ...JSON_TYPE },
      body: texts[turn % BODIES] ?? ""
    }),
    peers: ["full", "bare"],
    pocketbase: ({ id, session }, turn) => ({
      method: "POST",
      path: RECORDS,
      headers: { ...session, ...JSON_TYPE },
      body: `{"owner":"${id}",${texts[turn % BODIES]?.slice(1)}`
    }),
    ...(clients === undefined ? {} : { clients }),
    goals
  }
}

const batchOf = (wrapped: (turn: number) => ReadonlyArray<unknown>, member: string) =>
  bodies((turn) => JSON.stringify({ [member]: wrapped(turn) }))

const creates = batchOf(
  (turn) => Array.from({ length: 20 }, () => ({ op: "create", route: newRoute("One of 20", 100, "private", turn) })),
  "operations"
)

const track = (turn: number) =>
  lineOf(2000, 9 + turn / 10).map(([lon, lat, ele]) => `<trkpt lat="${lat}" lon="${lon}"><ele>${ele}</ele></trkpt>`)

const gpx = bodies((turn) =>
  `<gpx version="1.1" creator="bench"><trk><name>A day</name><trkseg>${track(turn).join("\n")}</trkseg></trk></gpx>`
)

const box = (turn: number) => [9 - turn / 100, 46.9, 9.2 + turn / 100, 47.2] as const

/** The reads come first: a write changes what they find. */
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
  own("session"),
  own("token"),
  {
    name: "`GET /users/me` by session",
    asks: ({ session }) => ({ path: `${API}/users/me`, headers: session }),
    peers: ["full"],
    pocketbase: ({ id, session }) => ({ path: `/api/collections/users/records/${id}`, headers: session }),
    goals: [1.5, 1.2]
  },
  list("20 routes of 1,000 positions", "limit=20", "perPage=20", [4, 4]),
  list("100 routes of 1,000 positions", "limit=100", "perPage=100", [6, 4]),
  list("20 routes without geometry", "limit=20&geometry=none", `perPage=20&fields=${FIELDS}`, [undefined, 8]),
  {
    name: "search `q`, 20 routes without geometry",
    asks: ({ session }, turn) => ({
      path: `${API}/routes?limit=20&geometry=none&q=${WORDS[turn]}`,
      headers: session
    }),
    peers: ["full"],
    pocketbase: ({ id, session }, turn) => ({
      path: `${RECORDS}?sort=-created,-id&perPage=20&fields=${FIELDS}&${
        filter(`owner='${id}' && name~'${WORDS[turn]}'`)
      }`,
      headers: session
    })
  },
  {
    name: "`GET /sync` with nothing new",
    asks: ({ cursor, session }) => ({ path: `${API}/sync?cursor=${encodeURIComponent(cursor)}`, headers: session }),
    peers: []
  },
  {
    name: "GPX of 1,000 positions",
    asks: (person, turn) => ({ path: `${API}/routes/${routeOf(person, "day", turn).shareToken}/gpx` }),
    peers: [],
    clients: 4
  },
  {
    name: "public list in a box, 20 routes without geometry",
    asks: (_, turn) => ({ path: `${API}/routes/public?limit=20&geometry=none&gate=public&bbox=${box(turn).join()}` }),
    peers: ["full"],
    pocketbase: (_, turn) => {
      const [west, south, east, north] = box(turn)
      const within = `visibility='public' && west<=${east} && east>=${west} && south<=${north} && north>=${south}`
      return { path: `${RECORDS}?sort=-created,-id&perPage=20&fields=${FIELDS}&${filter(within)}` }
    },
    isLimited: true
  },
  storing(100, [0.9, 1.1]),
  storing(1000, [1, 2]),
  storing(20_000, [1.8, 5], 4),
  {
    name: "import of a GPX of 2,000 points",
    asks: ({ token }, turn) => ({
      method: "POST",
      path: `${API}/routes/import?duplicates=allow`,
      headers: { ...token, "content-type": "application/gpx+xml" },
      body: gpx[turn % BODIES] ?? ""
    }),
    peers: [],
    clients: 4
  },
  {
    name: "batch of 20 routes of 100 positions",
    asks: ({ session }, turn) => ({
      method: "POST",
      path: `${API}/routes/batch`,
      headers: { ...session, ...JSON_TYPE },
      body: creates[turn % BODIES] ?? ""
    }),
    peers: [],
    pocketbase: ({ id, session }, turn) => ({
      method: "POST",
      path: "/api/batch",
      headers: { ...session, ...JSON_TYPE },
      body: JSON.stringify({
        requests: Array.from({ length: 20 }, () => ({
          method: "POST",
          url: RECORDS,
          body: { owner: id, ...newRoute("One of 20", 100, "private", turn) }
        }))
      })
    }),
    clients: 4
  }
]

const addressOf = (n: number) => ({ "x-forwarded-for": `198.18.${n >> 8}.${n & 255}` })

const ADDRESSES = 400

/** One call for each address; the accounts take turns. */
export const callsOf = (origin: string, people: ReadonlyArray<Person>, asks: Row["asks"]) =>
  Array.from({ length: ADDRESSES / ACCOUNTS }, (_, turn) =>
    people.map((person, n) => {
      const { headers, path, ...rest } = asks(person, turn)
      return { ...rest, url: `${origin}${path}`, headers: { ...headers, ...addressOf(turn * ACCOUNTS + n) } }
    })).flat()
