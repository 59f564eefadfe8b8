import { Effect } from "effect"
import { type ClientRequest, request } from "node:http"
import { MAX_POSITIONS } from "../src/schema/Geometry.ts"
import { MAX_WAYPOINTS } from "../src/schema/Route.ts"
import { positionsOf } from "../test/support/ProcessorTime.ts"

/** Requests without a body that make a process work. */
export interface HostileRead {
  readonly name: string
  readonly path: string
  readonly times: number
  /** Whether the responses are taken. */
  readonly isRead: boolean
}

const MIB = 1024 * 1024

/** A public route of as many positions and waypoints as one may have. */
export const longRoute = (name: string) => ({
  name,
  visibility: "public",
  waypoints: Array.from({ length: MAX_WAYPOINTS }, (_, n) => ({ coord: [9 + n / MAX_WAYPOINTS, 47.5] })),
  geometry: Array.from({ length: MAX_POSITIONS }, (_, n) => [9 + n / MAX_POSITIONS, 47 + Math.sin(n / 999)])
})

/** Reads of a route that is long, and of a user who has such routes. */
export const hostileReads = (routeId: string, userId: string): ReadonlyArray<HostileRead> => [
  ...["gpx", "tcx", "kml", "geojson"].map((format) => ({
    name: `a download as ${format.toUpperCase()}, of ${MAX_POSITIONS} positions and ${MAX_WAYPOINTS} waypoints`,
    path: `/api/v1/routes/${routeId}/${format}`,
    times: 1,
    isRead: true
  })),
  { name: "55 downloads that are never read", path: `/api/v1/routes/${routeId}/gpx`, times: 55, isRead: false },
  { name: "ten lists of long routes", path: `/api/v1/routes/by-user/${userId}`, times: 10, isRead: true }
]

/** What a client has of a response: its status, and how many bytes it took. */
interface Taken {
  readonly status: string
  readonly bytes: number
}

const taken = (url: string, isRead: boolean, open: Array<ClientRequest>) =>
  Effect.callback<Taken>((resume) => {
    const sent = request(url, { agent: false }, (response) => {
      const status = String(response.statusCode)
      const counted = { bytes: 0 }
      response.on("error", () => resume(Effect.succeed({ status: "broken off", bytes: counted.bytes })))
      if (!isRead) return resume(Effect.succeed({ status, bytes: 0 }))
      response.on("data", (chunk: Buffer) => counted.bytes += chunk.length)
      response.on("end", () => resume(Effect.succeed({ status, bytes: counted.bytes })))
    })
    sent.on("error", () => resume(Effect.succeed({ status: "broken off", bytes: 0 }))).end()
    open.push(sent)
  })

const summary = (statuses: ReadonlyArray<string>) =>
  [...Map.groupBy(statuses, (status) => status)].map(([status, all]) =>
    all.length === 1 ? status : `${all.length} of ${status}`
  )
    .join(", ")

/** Sends all of them at once; their statuses, and as much JSON as was taken. What is not read is held for two seconds. */
export const sendReads = Effect.fnUntraced(function*(origin: string, { isRead, path, times }: HostileRead) {
  const open: Array<ClientRequest> = []
  const call = taken(`${origin}${path}`, isRead, open)
  const all = yield* Effect.replicateEffect(call, times, { concurrency: "unbounded" })
  if (!isRead) yield* Effect.sleep("2 seconds")
  open.forEach((sent) => sent.destroy())
  const bytes = all.reduce((sum, each) => sum + each.bytes, 0)
  return { status: summary(all.map(({ status }) => status)), json: positionsOf(Math.max(bytes, MIB)) }
})
