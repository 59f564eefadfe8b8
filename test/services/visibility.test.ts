import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { databaseLive } from "../../src/layers/Database.ts"
import {
  ANONYMOUS,
  collectionVisibility,
  type Opening,
  routeVisibility
} from "../../src/services/sharing/Visibility.ts"
import { clonedDatabase } from "../support/Databases.ts"
import { configLayer } from "../support/TestServer.ts"

const OWNER = 1
const LEAVING = 2
const STRANGER = 3

const VIEWERS = { owner: OWNER, leaving: LEAVING, stranger: STRANGER, anonymous: ANONYMOUS } as const

const VISIBILITIES = ["private", "unlisted", "public"]

const tokenOf = (id: number) => String(id).padStart(32, "0")

type Table = "routes" | "collections"

const EXPIRY = new Date("2026-01-01T00:00:00Z")

const linkOf = (table: Table, id: number) => String(id).padStart(32, table === "routes" ? "a" : "c")

/** Each visibility is there as a route and as a collection, of the owner and of another whose deletion is pending. */
const ITEMS = [
  { owner: OWNER, prefix: "", isDeleted: false },
  { owner: OWNER, prefix: "deleted ", isDeleted: true },
  { owner: LEAVING, prefix: "leaving ", isDeleted: false }
].flatMap(({ isDeleted, owner, prefix }, state) =>
  VISIBILITIES.map((visibility, index) => {
    const id = state * VISIBILITIES.length + index + 1
    return { id, token: tokenOf(id), owner, visibility, name: `${prefix}${visibility}`, isDeleted }
  })
)

/** Both collections have all routes. */
const OF_OWNER = 101
const OF_STRANGER = 102

const filled = Layer.effectDiscard(SqlClient.SqlClient.use((sql) =>
  Effect.gen(function*() {
    yield* sql`
      INSERT INTO users (id, email, email_key, email_verified_at, name, handle, deletion_requested_at, created_at,
        updated_at)
      OVERRIDING SYSTEM VALUE
      SELECT id, id::text, id::text, now(), 'x', 'user-' || id, CASE WHEN id = ${LEAVING} THEN now() END, now(), now()
      FROM unnest(${[OWNER, LEAVING, STRANGER]}::int[]) id`
    const items = sql`
      json_to_recordset(${JSON.stringify(ITEMS)}) AS i (
        id int, owner int, name text, visibility text, token text, "isDeleted" boolean
      )`
    yield* sql`
      INSERT INTO routes (id, user_id, name, visibility, share_token, deleted_at, created_at, updated_at, tags, favourite,
        waypoints, provenance, published_at)
      OVERRIDING SYSTEM VALUE
      SELECT id, owner, name, visibility, token, CASE WHEN "isDeleted" THEN now() END, now(), now(), '{}', false, '[]',
        'generation', CASE WHEN visibility = 'public' THEN now() END FROM ${items}`
    yield* sql`
      INSERT INTO collections (id, user_id, name, visibility, share_token, deleted_at, created_at, updated_at)
      OVERRIDING SYSTEM VALUE
      SELECT id, owner, name, visibility, token, CASE WHEN "isDeleted" THEN now() END, now(), now() FROM ${items}
      UNION ALL
      SELECT id, owner, 'x', 'private', lpad(id::text, 32, '0'), NULL, now(), now()
      FROM (VALUES (${OF_OWNER}::int, ${OWNER}::int), (${OF_STRANGER}::int, ${STRANGER}::int)) AS full_ones (id, owner)`
    for (const [table, column] of [["routes", "route_id"], ["collections", "collection_id"]] as const) {
      const links = ITEMS.map(({ id }) => ({ id, token: linkOf(table, id) }))
      yield* sql`
        INSERT INTO share_links (${sql(column)}, token, allow_download, expires_at, created_at)
        SELECT id, token, true, ${EXPIRY}::timestamptz, now()
        FROM json_to_recordset(${JSON.stringify(links)}) AS l (id int, token text)`
    }
    yield* sql`
      INSERT INTO collection_routes (collection_id, route_id, position)
      SELECT c.id, r.id, r.id FROM collections c, routes r WHERE c.name = 'x'`
  })
))

const onDatabase = Layer.unwrap(
  Effect.map(clonedDatabase, (url) => Layer.provideMerge(filled, Layer.provide(databaseLive, configLayer(url, {}))))
)

const OWN = ["private", "unlisted", "public"]
const LEAVING_OWN = ["leaving private", "leaving unlisted", "leaving public"]

/** Each viewer gets the items with these names. */
type Expected = Readonly<Record<keyof typeof VIEWERS, ReadonlyArray<string>>>

const BY_ID: Expected = {
  owner: OWN,
  leaving: ["public", ...LEAVING_OWN],
  stranger: ["public"],
  anonymous: ["public"]
}

const BY_TOKEN: Expected = {
  owner: OWN,
  leaving: ["unlisted", "public", ...LEAVING_OWN],
  stranger: ["unlisted", "public"],
  anonymous: ["unlisted", "public"]
}

const ANYBODY: Expected = { owner: ["public"], leaving: ["public"], stranger: ["public"], anonymous: ["public"] }

const OWNED: Expected = { owner: OWN, leaving: LEAVING_OWN, stranger: [], anonymous: [] }

interface Case {
  readonly rule: string
  readonly table: Table
  readonly where: (sql: SqlClient.SqlClient, viewer: number) => Statement.Fragment
  readonly expected: Expected
  /** The collection has all routes; it is the owner's if absent. */
  readonly collection?: number
}

const ROUTE_CASES: ReadonlyArray<Case> = [
  { table: "routes", rule: "visible", where: (sql, viewer) => routeVisibility(sql).visible(viewer), expected: BY_ID },
  {
    table: "routes",
    rule: "listed in a collection",
    where: (sql, viewer) => routeVisibility(sql).listed(viewer),
    expected: BY_TOKEN
  },
  {
    table: "routes",
    rule: "shown in the owner's collection by its id",
    where: (sql, viewer) => routeVisibility(sql).shownIn(OF_OWNER, viewer),
    expected: BY_ID
  },
  {
    table: "routes",
    rule: "shown in the owner's collection by its token",
    where: (sql, viewer) => routeVisibility(sql).shownIn(tokenOf(OF_OWNER), viewer),
    expected: BY_TOKEN
  },
  {
    table: "routes",
    rule: "shown in the stranger's collection by its id",
    where: (sql, viewer) => routeVisibility(sql).shownIn(OF_STRANGER, viewer),
    expected: { ...BY_ID, stranger: ["unlisted", "public"] },
    collection: OF_STRANGER
  },
  {
    table: "routes",
    rule: "shown in the stranger's collection by its token",
    where: (sql, viewer) => routeVisibility(sql).shownIn(tokenOf(OF_STRANGER), viewer),
    expected: { ...BY_ID, stranger: ["unlisted", "public"] },
    collection: OF_STRANGER
  },
  {
    table: "routes",
    rule: "addable to a new collection",
    where: (sql, viewer) => routeVisibility(sql).addable(viewer, undefined),
    expected: BY_ID
  },
  {
    table: "routes",
    rule: "addable to a collection that has them",
    where: (sql, viewer) => routeVisibility(sql).addable(viewer, OF_STRANGER),
    expected: BY_TOKEN
  }
]

const linksTo = (table: Table, now: Date) =>
  ITEMS.map(({ id }): Opening => ({ by: "link", token: linkOf(table, id), now }))

const openedBy = (
  sql: SqlClient.SqlClient,
  table: Table,
  viewer: number,
  openings: ReadonlyArray<Opening>
) => {
  const visibility = table === "routes" ? routeVisibility(sql) : collectionVisibility(sql)
  const row = sql.literal(table === "routes" ? "r" : "c")
  return sql.or(
    openings.map((opening) =>
      sql`${row}.id IN (SELECT id FROM (${visibility.selectOpened(sql`${row}.id`, opening, viewer)}) opened)`
    )
  )
}

const COMMON = ([["routes", routeVisibility], ["collections", collectionVisibility]] as const).flatMap(
  ([table, visibilityOf]): ReadonlyArray<Case> => [
    {
      rule: "visible by id",
      table,
      where: (sql, viewer) => openedBy(sql, table, viewer, ITEMS.map(({ id }) => ({ by: "id", id }))),
      expected: BY_ID
    },
    {
      rule: "visible by token",
      table,
      where: (sql, viewer) => openedBy(sql, table, viewer, ITEMS.map(({ token }) => ({ by: "shareToken", token }))),
      expected: BY_TOKEN
    },
    {
      rule: "visible by a link until it expires",
      table,
      where: (sql, viewer) => openedBy(sql, table, viewer, linksTo(table, new Date(EXPIRY.getTime() - 1))),
      expected: BY_TOKEN
    },
    {
      rule: "visible by a link that expires now",
      table,
      where: (sql, viewer) => openedBy(sql, table, viewer, linksTo(table, EXPIRY)),
      expected: { owner: [], leaving: [], stranger: [], anonymous: [] }
    },
    { rule: "public", table, where: (sql) => visibilityOf(sql).public, expected: ANYBODY },
    { rule: "own", table, where: (sql, viewer) => visibilityOf(sql).own(viewer), expected: OWNED }
  ]
)

const CASES = [...COMMON, ...ROUTE_CASES]

const fromOf = (sql: SqlClient.SqlClient, { collection = OF_OWNER, table }: Case) =>
  table === "collections"
    ? sql`collections c JOIN users u ON u.id = c.user_id WHERE c.name <> 'x'`
    : sql`routes r JOIN users u ON u.id = r.user_id JOIN collections c ON c.id = ${collection} WHERE true`

layer(onDatabase, { excludeTestServices: true })("visibility", (it) => {
  it.effect.each(CASES)(
    "every viewer gets the $table that are $rule to them, and no others",
    (one) =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const row = sql.literal(one.table === "routes" ? "r" : "c")
        for (const viewer of ["owner", "leaving", "stranger", "anonymous"] as const) {
          const rows = yield* sql<{ name: string }>`
          SELECT ${row}.name FROM ${fromOf(sql, one)} AND (${one.where(sql, VIEWERS[viewer])}) ORDER BY ${row}.id`
          assert.deepStrictEqual(rows.map(({ name }) => name), [...one.expected[viewer]], viewer)
        }
      })
  )
})
