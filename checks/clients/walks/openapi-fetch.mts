import createClient from "openapi-fetch"
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import type { paths } from "./api.d.ts"

const { EMAIL = "", LINE = "", ORIGIN = "", PASSWORD = "" } = process.env
const line: number[][] = JSON.parse(readFileSync(LINE, "utf8"))

const clientOf = (token?: string) =>
  createClient<paths>({ baseUrl: ORIGIN, headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } })

const got = <A,>({ data, response }: { data?: A; response: Response }): NonNullable<A> => {
  assert(data !== undefined && data !== null, `${response.url}: ${response.status}`)
  return data
}

const credentials = { email: EMAIL, password: PASSWORD }
const { accessToken } = got(await clientOf().POST("/api/v1/auth/login-email", { body: credentials }))
const session = clientOf(accessToken)
const { token } = got(await session.POST("/api/v1/auth/tokens", { body: { name: "openapi-fetch", scope: "write" } }))
const script = clientOf(token)
const coord: [number, number] = [9.5, 47.1]
const body = { name: "openapi-fetch", waypoints: [{ coord }], geometry: line }
const made = got(await script.POST("/api/v1/routes", { body }))
assert.deepEqual(made.geometry, line)
const [listed] = got(await script.GET("/api/v1/routes", { params: { query: { limit: 1 } } }))
assert.deepEqual(listed?.geometry, line)
const path = { ref: String(made.id) }
const patched = got(await script.PATCH("/api/v1/routes/{ref}", { params: { path }, body: { name: "renamed" } }))
assert.deepEqual([patched.name, patched.geometry], ["renamed", line])
const collection = got(await script.POST("/api/v1/collections", { body: { name: "all", routeIds: [made.id] } }))
assert.deepEqual(collection.routeIds, [made.id])
const { features } = got(await script.GET("/api/v1/routes/{ref}/geojson", { params: { path } }))
assert.deepEqual(features[0]?.geometry?.coordinates, line)
const gpx = got(await script.GET("/api/v1/routes/{ref}/gpx", { params: { path }, parseAs: "text" }))
assert.match(gpx, /<gpx/)
const archive = got(await session.GET("/api/v1/users/me/export", { parseAs: "arrayBuffer" }))
assert.equal(Buffer.from(archive).subarray(0, 2).toString(), "PK")
console.log("openapi-fetch: walked")
