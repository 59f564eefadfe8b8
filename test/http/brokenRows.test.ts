import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { jsonLogger } from "../../src/layers/Logging.ts"
import { type Actor, anonymous, signedIn, signedInAs } from "../support/Actors.ts"
import { exported, manifestOf, unzipped } from "../support/Archives.ts"
import { make, makeRoute } from "../support/Collections.ts"
import { pageIn } from "../support/Copies.ts"
import { operations } from "../support/OpenApi.ts"
import { TestServer } from "../support/TestServer.ts"
import { mint } from "../support/Tokens.ts"

const ADMIN = "admin@example.com"

const logged: Array<string> = []

const recording = Logger.layer([Logger.map(jsonLogger, (line) => logged.push(line))])

/** Every constraint allows these and no response has them: a row of its own is made for each. */
const BREAKAGES = {
  routes: [
    "updated_at = 'infinity'",
    "created_at = '-infinity'",
    "version = 9007199254740993",
    "tags = ARRAY[ARRAY['a', 'b']]",
    "tags = ARRAY[NULL]",
    "published_at = '-infinity', updated_at = 'infinity'"
  ],
  deletedRoutes: ["deleted_at = '200000-01-01Z'", "deleted_at = 'infinity'", "updated_at = 'infinity'"],
  collections: ["updated_at = 'infinity'", "created_at = '-infinity'", "version = 9007199254740993"],
  deletedCollections: ["deleted_at = '200000-01-01Z'", "deleted_at = 'infinity'", "created_at = 'infinity'"],
  tokens: ["created_at = 'infinity'", "last_used_at = 'infinity'"],
  links: ["created_at = 'infinity'", "uses = 9007199254740993"],
  sessions: ["created_at = 'infinity'", "last_seen_at = 'infinity'"],
  users: ["created_at = 'infinity'", "deletion_requested_at = 'infinity'", "deletion_requested_at = '275760-09-13Z'"],
  audit: ["event = 'nonsense'", "created_at = 'infinity'"]
}

const Items = Schema.Array(
  Schema.Struct({
    id: Schema.optionalKey(Schema.Union([Schema.Int, Schema.String])),
    tag: Schema.optionalKey(Schema.String)
  })
)

const keysIn = (body: unknown) => Schema.decodeUnknownSync(Items)(body).map(({ id, tag }) => String(id ?? tag))

const nextOf = (headers: Headers) =>
  /<http:\/\/localhost:3000\/api\/v1([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1]

const joined = (path: string, query: string) => `${path}${path.includes("?") ? "&" : "?"}${query}`

/** Returns everything that a list has, page by page. */
const walked = Effect.fnUntraced(function*(actor: Actor, first: string) {
  const seen: Array<string> = []
  for (let path: string | undefined = first; path !== undefined;) {
    const { body, headers, status, text } = yield* actor.get(path)
    assert.strictEqual(status, 200, `${path}: ${text.slice(0, 200)}`)
    seen.push(...keysIn(body))
    path = nextOf(headers)
  }
  return seen
})

/** Returns all ids of a change feed from a cursor on. */
const fed = Effect.fnUntraced(function*(actor: Actor, query: string, from?: string) {
  const seen: Array<string> = []
  for (let cursor = from, hasMore = true; hasMore;) {
    const path = `/sync?${query}${cursor === undefined ? "" : `&cursor=${cursor}`}`
    const { body, status, text } = yield* actor.get(path)
    assert.strictEqual(status, 200, `${path}: ${text.slice(0, 200)}`)
    const page = pageIn(body)
    assert.isTrue(page.cursor !== cursor || !page.hasMore, `${path} does not end`)
    seen.push(...page.changes.map(({ id, type }) => `${type} ${id}`))
    cursor = page.cursor
    hasMore = page.hasMore
  }
  return seen
})

const broken = (table: string, id: number | string, breakage: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql`UPDATE ${sql(table)} SET ${sql.literal(breakage)} WHERE id::text = ${String(id)}`
  )

/** Makes two good rows around those that are broken. */
const around = Effect.fnUntraced(function*<E, R>(
  table: string,
  breakages: ReadonlyArray<string>,
  make: Effect.Effect<number | string, E, R>
) {
  const first = yield* make
  const bad = yield* Effect.forEach(breakages, (breakage) => Effect.map(make, (id) => [id, breakage] as const))
  const last = yield* make
  const plant = Effect.forEach(bad, ([id, breakage]) => broken(table, id, breakage), { discard: true })
  return { good: [String(first), String(last)], bad: bad.map(([id]) => String(id)), plant }
})

layer(TestServer.layer({ ADMIN_EMAILS: ADMIN }).pipe(Layer.provideMerge(recording)))(
  "a row that cannot be read",
  (it) => {
    it.effect(
      "is left out of every list and logged, and what stands around it is there on every page",
      () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const visitor = yield* anonymous
          const admin = yield* signedInAs({ email: ADMIN })
          const rider = yield* signedIn
          const route = makeRoute(rider, {
            name: "Around Vaduz",
            visibility: "public",
            tags: ["gravel"],
            geometry: Array.from({ length: 30 }, (_, n) => [9.5 + n / 1000, 47.1])
          })
          const routes = yield* around("routes", BREAKAGES.routes, route)
          const deletedRoutes = yield* around(
            "routes",
            BREAKAGES.deletedRoutes,
            Effect.tap(route, (id) => rider.delete(`/routes/${id}`))
          )
          yield* sql`UPDATE routes SET place_country_code = 'LI'`
          const routeIds = [...routes.good, ...routes.bad].map(Number)
          const collection = Effect.map(make(rider, { visibility: "public", routeIds }), ({ id }) => id)
          const collections = yield* around("collections", BREAKAGES.collections, collection)
          const deletedCollections = yield* around(
            "collections",
            BREAKAGES.deletedCollections,
            Effect.tap(collection, (id) => rider.delete(`/collections/${id}`))
          )
          const tokens = yield* around(
            "personal_access_tokens",
            BREAKAGES.tokens,
            Effect.map(mint(rider, "read"), ({ id }) => id)
          )
          const linkOf = (path: string) =>
            around(
              "share_links",
              BREAKAGES.links,
              Effect.map(
                rider.post(path, {}),
                ({ body }) => Schema.decodeUnknownSync(Schema.Struct({ id: Schema.Int }))(body).id
              )
            )
          const onRoute = `/routes/${routes.good[0]}/links`
          const onCollection = `/collections/${collections.good[0]}/links`
          const [routeLinks, collectionLinks] = [yield* linkOf(onRoute), yield* linkOf(onCollection)]
          const session = sql<{ id: string }>`
        INSERT INTO sessions (id, user_id, created_at, last_seen_at, expires_at)
        SELECT gen_random_uuid(), user_id, created_at, last_seen_at, expires_at FROM sessions WHERE user_id = ${rider.id}
        LIMIT 1 RETURNING id::text`.pipe(Effect.map(([row]) => row?.id ?? ""))
          const sessions = yield* around("sessions", BREAKAGES.sessions, session)
          const users = yield* around("users", BREAKAGES.users, Effect.map(signedIn, ({ id }) => id))
          const deletions = yield* around(
            "users",
            BREAKAGES.users,
            Effect.tap(
              Effect.map(signedIn, ({ id }) => id),
              (id) => sql`UPDATE users SET deletion_requested_at = created_at WHERE id = ${id}`
            )
          )
          const audit = yield* around(
            "audit_events",
            BREAKAGES.audit,
            sql<{ id: number }>`
          INSERT INTO audit_events (created_at, event, user_id) VALUES ('1970-01-01Z', 'token.minted', ${rider.id})
          RETURNING id::float8`.pipe(Effect.map(([row]) => row?.id ?? 0))
          )
          const { cursor } = pageIn((yield* rider.get("/sync?limit=200")).body)
          const planted = {
            routes,
            deletedRoutes,
            collections,
            deletedCollections,
            tokens,
            routeLinks,
            collectionLinks
          }
          for (const { plant } of Object.values({ ...planted, sessions, users, deletions, audit })) {
            yield* plant
          }
          yield* sql`UPDATE route_usage SET live_distance = 1e400 WHERE user_id = ${users.bad[0]}`
          yield* rider.patch(`/routes/${routes.good[0]}`, { favourite: true })

          const sorts = ["-createdAt", "createdAt", "-updatedAt", "name", "-distance", "distance"]
          const lists: Readonly<Record<string, readonly [Actor, ReadonlyArray<string>, ReadonlyArray<string>]>> = {
            "routes.list": [
              rider,
              [
                "/routes",
                "/routes?q=vaduz",
                "/routes?q=vaduz&sort=relevance",
                ...sorts.map((sort) => `/routes?sort=${sort}`)
              ],
              routes.good
            ],
            "routes.listDeleted": [rider, ["/routes/deleted"], deletedRoutes.good],
            "routes.tags": [rider, ["/routes/tags"], ["gravel"]],
            "routes.listPublic": [visitor, ["/routes/public", "/routes/public?gate=public"], routes.good],
            "routes.listByUser": [visitor, [`/routes/by-user/${rider.id}`], routes.good],
            "collections.list": [rider, ["/collections", "/collections?q=summer"], collections.good],
            "collections.listDeleted": [rider, ["/collections/deleted"], deletedCollections.good],
            "collections.listByUser": [visitor, [`/collections/by-user/${rider.id}`], collections.good],
            "collections.routes": [visitor, [`/collections/${collections.good[0]}/routes`], routes.good],
            "links.listOfRoute": [rider, [onRoute], routeLinks.good],
            "links.listOfCollection": [rider, [onCollection], collectionLinks.good],
            "tokens.list": [rider, ["/auth/tokens"], tokens.good],
            "sessions.list": [rider, ["/me/sessions"], sessions.good],
            "admin.users": [admin, ["/admin/users", "/admin/users?query=example.com"], users.good],
            "admin.routes": [admin, ["/admin/routes"], routes.good],
            "admin.deletions": [admin, ["/admin/deletions"], deletions.good],
            "admin.audit": [admin, [`/admin/audit?userId=${rider.id}`], audit.good]
          }
          const paged = operations.filter(({ operation }) => operation.parameters.some(({ name }) => name === "offset"))
          assert.sameMembers(
            Object.keys(lists),
            paged.map(({ operation }) => operation.operationId)
          )
          for (const [actor, paths, good] of Object.values(lists)) {
            for (const path of paths) {
              for (const limit of [1, 200]) {
                const seen = yield* walked(actor, joined(path, `limit=${limit}`))
                assert.includeMembers(seen, [...good], path)
                assert.strictEqual(new Set(seen).size, seen.length, path)
              }
            }
          }

          const kept = [...routes.good.map((id) => `route ${id}`), ...collections.good.map((id) => `collection ${id}`)]
          for (const limit of [1, 200]) {
            assert.includeMembers(yield* fed(rider, `limit=${limit}`), kept)
            assert.include(yield* fed(rider, `limit=${limit}`, cursor), `route ${routes.good[0]}`)
          }
          const { counts } = manifestOf(yield* unzipped((yield* exported(rider)).bytes))
          assert.deepInclude(counts, { routes: 2, collections: 3, tokens: 2 })
          for (const part of ["routes-1", "collections-1"]) {
            const { status, text } = yield* visitor.get(`//sitemaps/${part}.xml`)
            assert.strictEqual(status, 200, part)
            assert.isAtLeast(text.match(/<loc>/g)?.length ?? 0, 2, part)
          }

          const reported = Object.entries({
            routes: routes.bad,
            collections: collections.bad,
            changes: [routes.bad[2]],
            personal_access_tokens: tokens.bad,
            share_links: routeLinks.bad,
            sessions: sessions.bad,
            users: deletions.bad,
            audit_events: audit.bad
          })
          const reports = logged.filter((line) => line.includes("unreadable row left out"))
          for (const [table, ids] of reported) {
            for (const id of ids) {
              const isReported = reports.some((line) =>
                line.includes(`"table":"${table}"`) && line.includes(`"id":"${id}"`)
              )
              assert.isTrue(isReported, `${table} ${id}`)
            }
          }
        })
    )
  }
)
