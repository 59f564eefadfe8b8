import { Config, Console, Effect, Option, Schema } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { temporaryDirectory } from "../../test/support/TemporaryDirectory.ts"
import type { Row } from "../crowdRows.ts"
import { ACCOUNTS, decodeOwners, newRoute, PLAN, WORDS } from "../people.ts"
import { started } from "../processes.ts"
import { asked, JSON_TYPE, post } from "../seed.ts"

// PocketBase, which an app could use instead, has its SQLite in a temporary folder. `POCKETBASE_BIN` is its binary.

const PASSWORD = "a long enough password"
const ADMIN = "admin@example.com"

const text = (name: string) => ({ name, type: "text" })
const number = (name: string) => ({ name, type: "number" })
const json = (name: string) => ({ name, type: "json", maxSize: 8 * 1024 * 1024 })

/** The collection has the fields of a route, the same rules for owners, and indexes for the lists. */
const routes = {
  name: "routes",
  type: "base",
  listRule: "owner = @request.auth.id || visibility = 'public'",
  viewRule: "owner = @request.auth.id || visibility = 'public' || "
    + "(visibility = 'unlisted' && shareToken = @request.query.token)",
  createRule: "@request.auth.id != '' && owner = @request.auth.id",
  updateRule: "owner = @request.auth.id",
  deleteRule: "owner = @request.auth.id",
  fields: [
    {
      name: "owner",
      type: "relation",
      collectionId: "_pb_users_auth_",
      required: true,
      cascadeDelete: true,
      maxSelect: 1
    },
    { ...text("name"), required: true, max: 255 },
    { ...text("description"), max: 10_000 },
    { name: "activity", type: "select", values: ["run", "cycle", "walk"] },
    { name: "visibility", type: "select", values: ["private", "unlisted", "public"], required: true },
    { name: "favourite", type: "bool" },
    ...["tags", "waypoints", "geometry", "simplified"].map(json),
    ...["distance", "duration", "elevationGain", "west", "south", "east", "north"].map(number),
    ...["startAddress", "endAddress", "placeCity", "placeRegion", "placeCountryCode", "provenance"].map(text),
    { ...text("shareToken"), autogeneratePattern: "[0-9a-f]{32}" },
    { name: "created", type: "autodate", onCreate: true },
    { name: "updated", type: "autodate", onCreate: true, onUpdate: true }
  ],
  indexes: [
    "CREATE UNIQUE INDEX routes_token ON routes (shareToken)",
    "CREATE INDEX routes_owner ON routes (owner, created DESC, id DESC)",
    "CREATE INDEX routes_public ON routes (created DESC, id DESC) WHERE visibility = 'public'"
  ]
}

const Signed = Schema.Struct({ token: Schema.String })
const Created = Schema.Struct({ id: Schema.String })

const NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"

/** Copies a first account and a route of each kind, as `people.ts` does. */
const copied = (file: string, templates: ReadonlyArray<readonly [id: string, copies: number]>) => {
  const client = new DatabaseSync(file)
  client.prepare(
    `${NUMBERS} INSERT INTO users (password, tokenKey, email, emailVisibility, verified, name, created, updated)
     SELECT password, lower(hex(randomblob(25))), 'person-' || (n + 1) || '@example.com', false, true, 'Person', created,
       updated FROM users, numbers`
  ).run(ACCOUNTS - 1)
  const columns = routes.fields.map(({ name }) => name).filter((name) =>
    !["owner", "name", "shareToken"].includes(name)
  )
  const words = JSON.stringify(WORDS)
  for (const [id, copies] of templates) {
    client.prepare(
      `${NUMBERS} INSERT INTO routes (owner, shareToken, name, ${columns.join(", ")})
       SELECT u.id, lower(hex(randomblob(16))), r.name || ' ' || json_extract(?, '$[' || (n % json_array_length(?)) || ']'),
         ${columns.map((name) => `r.${name}`).join(", ")} FROM routes r, users u, numbers WHERE r.id = ?`
    ).run(copies, words, words, id)
  }
  client.exec("ANALYZE")
  const owners = decodeOwners(
    client.prepare(
      `SELECT id, email, json_group_object(kind, json(refs)) AS routes FROM (
         SELECT u.id, u.email, substr(r.name, 1, instr(r.name || ' ', ' ') - 1) AS kind,
           json_group_array(json_object('id', r.id, 'shareToken', r.shareToken)) AS refs
         FROM users u JOIN routes r ON r.owner = u.id GROUP BY 1, 2, 3
       ) GROUP BY id, email`
    ).all()
  )
  client.close()
  return owners
}

/** Starts PocketBase with the accounts of the crowd. Returns none without a binary. */
export const pocketbase = Effect.gen(function*() {
  const setting = yield* Config.option(Config.NonEmptyString("POCKETBASE_BIN"))
  if (Option.isNone(setting)) {
    yield* Console.log("POCKETBASE_BIN is not set: without PocketBase\n")
    return []
  }
  const binary = setting.value
  const folder = yield* temporaryDirectory
  yield* Effect.promise(() => promisify(execFile)(binary, ["--dir", folder, "superuser", "upsert", ADMIN, PASSWORD]))
  const server = yield* started(
    (port) => [binary, "--dir", folder, "--automigrate=false", "serve", "--http", `127.0.0.1:${port}`],
    "/api/health"
  )
  const api = `${server.origin}/api/collections`
  const signIn = { identity: ADMIN, password: PASSWORD }
  const { token } = yield* post(`${api}/_superusers/auth-with-password`, {}, signIn, Signed)
  const headers = { authorization: token }
  const batch = { batch: { enabled: true, maxRequests: 100, timeout: 30 } }
  const patch = { method: "PATCH", headers: { ...headers, ...JSON_TYPE }, body: JSON.stringify(batch) }
  yield* asked(`${server.origin}/api/settings`, patch, Schema.Json)
  yield* post(api, headers, routes, Created)
  const first = { email: "person-1@example.com", password: PASSWORD, passwordConfirm: PASSWORD, verified: true }
  const { id: owner } = yield* post(`${api}/users/records`, headers, first, Created)
  const templates = yield* Effect.forEach(PLAN, ({ copies, kind, positions, visibility }) => {
    const body = { owner, ...newRoute(kind, positions, visibility), west: 9, south: 46.9, east: 9.1, north: 47.1 }
    return Effect.map(post(`${api}/routes/records`, headers, body, Created), ({ id }) => [id, copies] as const)
  })
  const people = yield* Effect.forEach(copied(join(folder, "data.db"), templates), (account) =>
    Effect.map(
      post(`${api}/users/impersonate/${account.id}`, headers, { duration: 86_400 }, Signed),
      ({ token: authorization }) => ({ ...account, session: { authorization }, token: { authorization }, cursor: "" })
    ))
  // Its database is in its process, which has no children.
  return [{ ...server, postgres: server.pid, name: "PocketBase", people, asksOf: (row: Row) => row.pocketbase }]
})
