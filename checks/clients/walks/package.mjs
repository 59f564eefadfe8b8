import { readFile } from "node:fs/promises"
import process from "node:process"
import { batch, makeClient, pages } from "route-planning-service-client"

const { EMAIL: email, LINE, ORIGIN: baseUrl, PASSWORD: password } = process.env
const line = JSON.parse(await readFile(LINE, "utf8"))

const same = (got, expected) => {
  if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(`${JSON.stringify(got)} is not ${JSON.stringify(expected)}`)
}

const session = makeClient({ baseUrl })
await session.auth.logIn({ payload: { email, password } })
const { token } = await session.tokens.mint({ payload: { name: "package", scope: "write" } })
const client = makeClient({ baseUrl, token })
const waypoints = [{ coord: [9.5, 47.1] }]
const made = await client.routes.create({ payload: { name: "package", waypoints, geometry: line } })
same(made.geometry, line)
const patched = await client.routes.update({ params: { ref: made.id }, payload: { name: "renamed" } })
same([patched.name, patched.geometry], ["renamed", line])
const collection = await client.collections.create({ payload: { name: "all", routeIds: [made.id] } })
same(collection.routeIds, [made.id])
const names = []
for await (const { name } of pages((page) => client.routes.list.response({ query: { limit: 1, ...page } }))) names.push(name)
same(names.includes("renamed"), true)
const geojson = await client.files.geojson({ params: { ref: made.id } })
same(geojson.features[0].geometry.coordinates, line)
same((await client.files.gpx({ params: { ref: made.id } })).includes("<gpx"), true)
same([...(await session.accountData.export()).subarray(0, 2)], [0x50, 0x4b])
const [removed] = await batch(client, [{ op: "delete", id: made.id }], { confirm: true })
same(removed.status, 200)
console.log("the client package: walked")
