import { DateTime, Effect, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import type { ArchivedCollection, Outcome, RouteOutcome } from "../../schema/Archive.ts"
import { MAX_ROUTES } from "../../schema/Collection.ts"
import { RouteId, ShareToken, UserId } from "../../schema/Ids.ts"
import { textOrNull } from "../../schema/Text.ts"
import { Lanes } from "../admission/Lanes.ts"
import { quotaFailures } from "../admission/Quotas.ts"
import { collections } from "../collections/CollectionRows.ts"
import { deletionCutoff } from "../db/Sweeps.ts"
import { bigints } from "../db/Tables.ts"
import { AccountDeleted } from "../DomainErrors.ts"
import { Places } from "../geometry/Places.ts"
import { isActive } from "../identity/Users.ts"
import { placeValues, routesTable } from "../routes/RouteRow.ts"
import { sameRoutes } from "../routes/RouteText.ts"
import { shareTokens } from "../sharing/ShareLinks.ts"
import { routeVisibility } from "../sharing/Visibility.ts"
import type { Batch, ImportedRoute, Rows } from "./Lists.ts"

type ByOrigin = ReadonlyMap<ShareToken, RouteId>

export type ImportedTable = "routes" | "collections"

interface Archived {
  readonly origin: ShareToken
  readonly createdAt: string
  readonly updatedAt: string
}

/** The routes that an account had before an import, but those that are in the archive, too. */
export interface Others {
  readonly upTo: number
  readonly except: ReadonlyArray<RouteId>
}

const SOURCE_COLUMNS = new Set(["source_provider", "source_external_id", "source_url"])

/** Rows known by `origin` stay, or are restored from the trash. A unique index makes writes idempotent. */
export const importedRows = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const places = yield* Places
  const shareToken = yield* shareTokens
  const visibility = routeVisibility(sql)
  const findSame = yield* sameRoutes
  const { writes } = yield* Lanes

  const hasOrigin = (owner: number, origins: ReadonlyArray<string>) =>
    sql`
      user_id = ${owner} AND (
        ${sql.in("imported_from", origins)} OR (imported_from IS NULL AND ${sql.in("share_token", origins)})
      )`

  const findKnown = SqlSchema.findAll({
    Request: Schema.Struct({ table: Schema.String, owner: UserId, origins: Schema.Array(ShareToken) }),
    Result: Schema.Struct({ origin: ShareToken, isLive: Schema.Boolean }),
    execute: ({ origins, owner, table }) =>
      sql`
        SELECT coalesce(imported_from, share_token) AS origin, deleted_at IS NULL AS "isLive" FROM ${sql(table)}
        WHERE ${hasOrigin(owner, origins)}`
  })

  const findIds = SqlSchema.findAll({
    Request: Schema.Struct({ owner: UserId, origins: Schema.Array(ShareToken) }),
    Result: Schema.Struct({ id: RouteId, origin: ShareToken }),
    execute: ({ origins, owner }) =>
      sql`SELECT id, coalesce(imported_from, share_token) AS origin FROM routes WHERE ${hasOrigin(owner, origins)}`
  })

  // The sum is in no index: to find the greatest id PostgreSQL would read the routes of all accounts from the newest on.
  const findNewest = SqlSchema.findOne({
    Request: UserId,
    Result: Schema.Struct({ newest: Schema.NullOr(RouteId) }),
    execute: (owner) => sql`SELECT max(id + 0) AS newest FROM routes WHERE user_id = ${owner}`
  })

  const findPublic = SqlSchema.findAll({
    Request: Schema.Array(ShareToken),
    Result: Schema.Struct({ id: RouteId, origin: ShareToken }),
    execute: (tokens) =>
      sql`
        SELECT r.id, r.share_token AS origin FROM routes r JOIN users u ON u.id = r.user_id
        WHERE ${sql.in("r.share_token", tokens)} AND ${visibility.public}`
  })

  // Account deletion waits for the end of the batch; the next batch sees it.
  const lockAgainstDeletion = Effect.fnUntraced(function*(owner: UserId) {
    const rows = yield* sql`SELECT 1 FROM users WHERE id = ${owner} AND ${isActive(sql)} FOR SHARE`
    if (rows.length === 0) return yield* new AccountDeleted()
  })

  // Rows are locked by their ids, as others that change several do.
  const lockedInOrder = (table: string, condition: Statement.Fragment) =>
    sql`SELECT id FROM ${sql(table)} WHERE ${condition} ORDER BY id FOR UPDATE`

  // A row whose time in the trash is over counts as absent, even if it is not purged yet.
  const dropOverdue = (table: string, owner: UserId, origins: ReadonlyArray<ShareToken>, since: Date) =>
    sql`DELETE FROM ${sql(table)} WHERE id IN (${
      lockedInOrder(table, sql`${hasOrigin(owner, origins)} AND deleted_at <= ${since}`)
    })`

  const restoreDeleted = (table: string, owner: UserId, origins: ReadonlyArray<ShareToken>, now: Date) =>
    sql`
      UPDATE ${sql(table)} SET deleted_at = NULL, updated_at = ${now}, version = version + 1
      WHERE id IN (${lockedInOrder(table, sql`${hasOrigin(owner, origins)} AND deleted_at IS NOT NULL`)}) RETURNING id`

  // Instants of an archive are untrusted: they order lists, and may not lie in the future.
  const ownValues = Effect.fnUntraced(function*(owner: UserId, { createdAt, origin, updatedAt }: Archived, now: Date) {
    const notAfterNow = (instant: string) => new Date(Math.min(Date.parse(instant), now.getTime()))
    return {
      userId: owner,
      importedFrom: origin,
      clientId: null,
      clientDigest: null,
      shareToken: yield* shareToken,
      createdAt: notAfterNow(createdAt),
      updatedAt: notAfterNow(updatedAt)
    }
  })

  const ownRow = Effect.fnUntraced(function*(owner: UserId, route: ImportedRoute, now: Date) {
    return routesTable.byColumn({
      ...placeValues(yield* places.at(route.start)),
      ...yield* ownValues(owner, route, now),
      publishedAt: route.visibility === "public" ? now : null
    })
  })

  // One statement writes a batch, as bytes of JSON: for text the driver reserves three times its length, whose garbage
  // collection is most of the cost of a large import.
  const insertRoutes = Effect.fnUntraced(function*(
    owner: UserId,
    routes: ReadonlyArray<ImportedRoute>,
    { columns, json }: Rows,
    now: Date
  ) {
    const own = yield* Effect.forEach(routes, (route) => Effect.andThen(Effect.yieldNow, ownRow(owner, route, now)))
    const ownColumns = Object.keys(own[0] ?? {}).filter((column) => !columns.includes(column))
    const listed = (from: string, names: ReadonlyArray<string>) => names.map((name) => sql`${sql(`${from}.${name}`)}`)
    // A route keeps its source unless another of the account, which may be in the trash, has it.
    const read = columns.map((name) =>
      SOURCE_COLUMNS.has(name)
        ? sql`CASE WHEN NOT s.is_taken THEN ${sql(`read.${name}`)} END`
        : sql`${sql(`read.${name}`)}`
    )
    const inserted = yield* sql`
      INSERT INTO routes (${sql.csv([...columns, ...ownColumns].map((name) => sql`${sql(name)}`))})
      SELECT ${sql.csv([...read, ...listed("own", ownColumns)])}
      FROM json_populate_recordset(NULL::routes, convert_from(${json}, 'UTF8')::json) WITH ORDINALITY read
        JOIN json_populate_recordset(NULL::routes, ${JSON.stringify(own)}::json) own USING (imported_from)
        CROSS JOIN LATERAL (
          SELECT EXISTS (
            SELECT FROM routes o WHERE o.user_id = ${owner} AND o.source_provider = read.source_provider
              AND o.source_external_id = read.source_external_id
          ) AS is_taken
        ) s
      ORDER BY read.ordinality
      ON CONFLICT DO NOTHING RETURNING id`
    return inserted.length
  })

  const insertCollection = Effect.fnUntraced(function*(owner: UserId, collection: ArchivedCollection, now: Date) {
    const { description, name, visibility } = collection
    const values = { name, description: textOrNull(description) ?? null, visibility }
    const rows = yield* sql`
      ${collections.insert(sql, { ...values, ...yield* ownValues(owner, collection, now) })}
      ON CONFLICT DO NOTHING RETURNING id`
    return rows.length
  })

  // The members that a restored collection has stay before those of the archive.
  const addMembers = (owner: UserId, { origin }: ArchivedCollection, members: ReadonlyArray<RouteId>) =>
    sql`
      WITH c AS (SELECT id FROM collections WHERE ${hasOrigin(owner, [origin])}),
        present AS (SELECT m.route_id, m.position FROM c JOIN collection_routes m ON m.collection_id = c.id)
      INSERT INTO collection_routes (collection_id, route_id, position)
      SELECT c.id, r.id, ids.place + (SELECT coalesce(max(position), 0) FROM present)
      FROM c, unnest(${
      bigints(members)
    }::bigint[]) WITH ORDINALITY AS ids (member, place) JOIN routes r ON r.id = member
      WHERE r.id NOT IN (SELECT route_id FROM present)
      ORDER BY ids.place LIMIT ${MAX_ROUTES} - (SELECT count(*) FROM present)`

  const bring = Effect.fnUntraced(function*<Item extends Archived, E, R>(
    table: string,
    owner: UserId,
    items: ReadonlyArray<Item>,
    insert: (missing: ReadonlyArray<Item>, now: Date, restored: number) => Effect.Effect<number, E, R>
  ) {
    yield* lockAgainstDeletion(owner)
    const now = yield* DateTime.nowAsDate
    const since = yield* deletionCutoff
    const origins = items.map(({ origin }) => origin)
    yield* dropOverdue(table, owner, origins, since)
    const known = new Set((yield* findKnown({ table, owner, origins })).map(({ origin }) => origin))
    const restored = known.size === 0 ? 0 : (yield* restoreDeleted(table, owner, origins, now)).length
    const missing = items.filter(({ origin }) => !known.has(origin))
    const created = yield* insert(missing, now, restored)
    const outcome: Outcome = { created, restored, unchanged: items.length - created - restored }
    return outcome
  }, (change, _, owner) => writes(owner, sql.withTransaction(change)))

  const idsOf = (owner: UserId, origins: ReadonlyArray<ShareToken>) =>
    Effect.map(findIds({ owner, origins }), (rows): ByOrigin => new Map(rows.map(({ id, origin }) => [origin, id])))

  return {
    /** Counts the rows that no quota counts yet, collections in the trash included. */
    uncounted: (table: ImportedTable, owner: UserId, origins: ReadonlyArray<ShareToken>) =>
      Effect.map(Effect.orDie(findKnown({ table, owner, origins })), (rows) => {
        const counted = new Set(
          rows.filter(({ isLive }) => isLive || table === "routes").map(({ origin }) => origin)
        )
        return origins.filter((origin) => !counted.has(origin))
      }),

    newestRoute: (owner: UserId) => Effect.orDie(Effect.map(findNewest(owner), ({ newest }) => newest ?? 0)),

    known: (owner: UserId, origins: ReadonlyArray<ShareToken>) =>
      Effect.orDie(Effect.map(idsOf(owner, origins), (ids) => [...ids.values()])),

    /** Routes with the digest of an own one of `others` are skipped, and stand for it in collections. */
    routes: Effect.fnUntraced(function*(owner: UserId, { records, rows }: Batch<ImportedRoute>, others: Others) {
      const same = new Map<ShareToken, RouteId>()
      const { created, restored, unchanged } = yield* bring(
        "routes",
        owner,
        records,
        Effect.fnUntraced(function*(missing, now) {
          const digests = missing.map(({ digest }, index) => ({ index, ...digest }))
          const found = others.upTo === 0 || digests.length === 0 ? [] : yield* findSame({ owner, digests, ...others })
          for (const { index, routeId } of found) {
            const route = missing[index]
            if (route !== undefined) same.set(route.origin, routeId)
          }
          const wanted = missing.filter(({ origin }) => !same.has(origin))
          const insert = insertRoutes(owner, wanted, rows, now)
          const inserted = wanted.length === 0 ? 0 : yield* insert
          // The source of a route was taken while it was stored, or by one before it in the batch: now it has none.
          return inserted === wanted.length ? inserted : inserted + (yield* insert)
        })
      )
      const outcome: RouteOutcome = { created, restored, unchanged: unchanged - same.size, duplicates: same.size }
      return { outcome, ids: new Map([...yield* idsOf(owner, records.map(({ origin }) => origin)), ...same]) }
    }, quotaFailures),

    publicRoutes: (tokens: ReadonlyArray<ShareToken>) =>
      tokens.length === 0 ? Effect.succeed<ByOrigin>(new Map()) : Effect.map(
        Effect.orDie(findPublic(tokens)),
        (rows): ByOrigin => new Map(rows.map(({ id, origin }) => [origin, id]))
      ),

    collection: (owner: UserId, collection: ArchivedCollection, members: ReadonlyArray<RouteId>) =>
      bring(
        "collections",
        owner,
        [collection],
        Effect.fnUntraced(function*(missing, now, restored) {
          const created = missing.length === 0 ? 0 : yield* insertCollection(owner, collection, now)
          if (created + restored > 0) yield* addMembers(owner, collection, members)
          return created
        })
      ).pipe(quotaFailures)
  }
})
