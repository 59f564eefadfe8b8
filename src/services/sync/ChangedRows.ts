import { DateTime, Effect, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import { type AccountSettings, CHANGE_TYPES, type ChangeType, type SyncedLink } from "../../schema/Change.ts"
import type { StoredCollection } from "../../schema/Collection.ts"
import type { GeometryForm } from "../../schema/Geometry.ts"
import { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import { PrivacyZone } from "../../schema/PrivacyZone.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { collectionQueries } from "../collections/CollectionRows.ts"
import type { DatabaseError } from "../db/DatabaseErrors.ts"
import { readableRows } from "../db/Lists.ts"
import { bigints, columnsOf, TimestampColumn } from "../db/Tables.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { UserRecord } from "../identity/Users.ts"
import { boundedRoutes, unboundedCount } from "../routes/RouteLists.ts"
import { RouteRow, toStoredRoute } from "../routes/RouteRow.ts"
import { LinkRow } from "../sharing/ShareLinks.ts"
import { collectionVisibility, isUnexpired, routeVisibility, SHARED } from "../sharing/Visibility.ts"

/** A thing without a version has the number of its change, 0 where it has not changed since changes are numbered. */
interface Numbered {
  readonly version: number
  readonly at: string
}

interface LinkChange extends Numbered {
  readonly type: "link"
  readonly link: SyncedLink
}

interface AccountChange extends Numbered {
  readonly type: "account"
  readonly id: UserId
  readonly account: AccountSettings
}

const NumberedColumns = { version: Schema.Int, at: TimestampColumn }

const ChangedLink = Schema.Struct({
  ...LinkRow.fields,
  routeId: Schema.NullOr(RouteId),
  collectionId: Schema.NullOr(CollectionId),
  ...NumberedColumns
})

const AccountColumns = UserRecord.select.mapFields(Struct.pick(["name", "handle", "avatar", "preferences"]))

const ChangedAccount = Schema.Struct({
  ...AccountColumns.fields,
  zones: Schema.Array(PrivacyZone),
  ...NumberedColumns
})

const linkChange = (
  { at, collectionId, routeId, version, ...link }: typeof ChangedLink.Type
): LinkChange => ({
  type: "link",
  version,
  at,
  link: {
    ...link,
    ...(routeId === null ? {} : { routeId }),
    ...(collectionId === null ? {} : { collectionId })
  }
})

const accountChange =
  (id: UserId) => ({ at, avatar, version, ...settings }: typeof ChangedAccount.Type): AccountChange => ({
    type: "account",
    id,
    version,
    at,
    account: { ...settings, ...(avatar === null ? {} : { avatar }) }
  })

const decodeLinks = readableRows("share_links", ChangedLink)

const decodeId = Schema.decodeUnknownEffect(Schema.Struct({ id: Schema.Int }))

const accountRows = Effect.map(SqlClient.SqlClient, (sql) => {
  const ofRoutes = routeVisibility(sql)
  const ofCollections = collectionVisibility(sql)

  const newestOf = (owner: number, type: "account" | "link", id: Statement.Fragment) =>
    sql`LEFT JOIN changes n ON n.user_id = ${owner} AND n.type = ${type} AND n.id = ${id}`

  const numbered = (madeAt: string) =>
    sql.literal(`coalesce(n.number, 0) AS version, coalesce(n.numbered_at, ${madeAt}) AS at`)

  const linkColumns = sql.literal(
    `${columnsOf(LinkRow, "l")}, l.route_id AS "routeId", l.collection_id AS "collectionId"`
  )

  const selectLinks = (owner: UserId, links: Statement.Fragment) =>
    sql`SELECT ${linkColumns}, ${numbered("l.created_at")} FROM ${links} ${newestOf(owner, "link", sql`l.id`)}`

  const findAccount = SqlSchema.findOneOption({
    Request: UserId,
    Result: ChangedAccount,
    execute: (owner) =>
      sql`
        SELECT ${sql.literal(columnsOf(AccountColumns, "u"))}, ${numbered("u.created_at")}, (
          SELECT coalesce(json_agg(json_strip_nulls(json_build_object(
            'center', json_build_array(z.lng, z.lat), 'radius', z.radius, 'label', z.label)) ORDER BY z.position), '[]')
          FROM privacy_zones z WHERE z.user_id = u.id
        ) AS zones
        FROM users u ${newestOf(owner, "account", sql`u.id`)} WHERE u.id = ${owner}`
  })

  return {
    /** Reads a page of links that are unchanged since the number, newest first; `last` is its last if more follow. */
    linksAfter: Effect.fnUntraced(function*(owner: UserId, number: number, after: number, limit: number) {
      const links = sql`(
        SELECT l.* FROM routes r JOIN share_links l ON l.route_id = r.id WHERE ${ofRoutes.own(owner)}
        UNION ALL
        SELECT l.* FROM collections c JOIN share_links l ON l.collection_id = c.id WHERE ${ofCollections.own(owner)}
      ) l`
      const rows = yield* sql`
        ${selectLinks(owner, links)}
        WHERE ${after === 0 ? sql`true` : sql`l.id < ${after}`} AND ${isUnexpired(sql, yield* DateTime.nowAsDate)}
          AND coalesce(n.number, 0) <= ${number}
        ORDER BY l.id DESC LIMIT ${limit + 1}`
      const shown = rows.slice(0, limit)
      return {
        changes: (yield* decodeLinks(shown)).map(linkChange),
        last: rows.length > limit ? (yield* Effect.orDie(decodeId(shown.at(-1)))).id : undefined
      }
    }),

    links: Effect.fnUntraced(function*(owner: UserId, ids: ReadonlyArray<number>) {
      if (ids.length === 0) return []
      const links = sql`
        share_links l LEFT JOIN routes r ON r.id = l.route_id LEFT JOIN collections c ON c.id = l.collection_id`
      const rows = yield* sql`
        ${selectLinks(owner, links)}
        WHERE ${sql.in("l.id", ids)} AND ${isUnexpired(sql, yield* DateTime.nowAsDate)}
          AND ((${ofRoutes.own(owner)}) OR (${ofCollections.own(owner)}))`
      return (yield* decodeLinks(rows)).map(linkChange)
    }),

    account: (owner: UserId) =>
      Effect.map(findAccount(owner), (found) => Option.toArray(Option.map(found, accountChange(owner))))
  }
})

export type StoredChange =
  | { readonly type: "route"; readonly route: StoredRoute }
  | { readonly type: "collection"; readonly collection: StoredCollection }
  | LinkChange
  | AccountChange
  | {
    readonly type: "deleted"
    readonly of: ChangeType
    readonly id: number
    readonly version: number
    readonly deletedAt: string
  }

/** The row is the last of an account that was read; the id is 0 before the first of its type. */
export const Row = Schema.Struct({ type: Schema.Literals(CHANGE_TYPES), id: Schema.Int })
export type Row = typeof Row.Type

export interface Wanted {
  readonly limit: number
  readonly include: ReadonlyArray<ChangeType>
  readonly form: GeometryForm
}

const NumberedChange = Schema.Struct({
  type: Schema.Literals(CHANGE_TYPES),
  id: Schema.Int,
  number: Schema.Int,
  version: Schema.Int,
  deletedAt: Schema.NullOr(Schema.String)
})
type NumberedChange = typeof NumberedChange.Type

/** `change` is decoded later, so that a change that cannot be read is passed over. */
const NumberedRow = Schema.Struct({
  completeFrom: Schema.Int,
  number: Schema.NullOr(Schema.Int),
  change: Schema.Unknown
})

const decodeLast = Schema.decodeUnknownEffect(Schema.Struct({ id: RouteId }))

const decodeCollectionIds = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ id: CollectionId })))

const isCollectionId = Schema.is(CollectionId)

const routeChange = (route: StoredRoute): StoredChange => ({ type: "route", route })
const collectionChange = (collection: StoredCollection): StoredChange => ({ type: "collection", collection })

interface Part {
  readonly changes: ReadonlyArray<StoredChange>
  /** The row is the last of the page where more follow. */
  readonly last: number | undefined
}

export const changedRows = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pseudonyms = yield* Pseudonyms
  const collections = yield* collectionQueries
  const visibility = { route: routeVisibility(sql), collection: collectionVisibility(sql) }
  const { account, links, linksAfter } = yield* accountRows
  const decodeRoutes = readableRows("routes", RouteRow)
  const decodeChanges = readableRows("changes", NumberedChange)

  /** `last` is the last route of the page where more follow. `ids` has one more than the limit. */
  const readRoutes = Effect.fnUntraced(
    function*(
      owner: UserId,
      ids: Statement.Fragment,
      order: Statement.Fragment,
      form: GeometryForm,
      limit: number
    ) {
      const rows = yield* boundedRoutes(sql, owner, ids, order, form)
      const shown = rows.slice(0, limit)
      const isLast = shown.length === (yield* unboundedCount(rows))
      return {
        routes: (yield* decodeRoutes(shown)).map((row) => toStoredRoute(row, pseudonyms)),
        last: isLast ? undefined : (yield* Effect.orDie(decodeLast(shown.at(-1)))).id
      }
    }
  )

  const findNumbered = SqlSchema.findAll({
    Request: Schema.Struct({
      owner: UserId,
      after: Schema.Int,
      limit: Schema.Int,
      include: Schema.Array(Schema.String)
    }),
    Result: NumberedRow,
    // The read is one snapshot: a deletion that is purged before it is read is seen by `complete_from`.
    execute: ({ after, include, limit, owner }) =>
      sql`
        SELECT n.complete_from AS "completeFrom", c.number, CASE WHEN c.id IS NOT NULL THEN json_build_object(
          'type', c.type, 'id', c.id, 'number', c.number, 'version', c.version,
          'deletedAt', to_char(c.deleted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        ) END AS change
        FROM change_counters n LEFT JOIN (
          SELECT * FROM changes
          WHERE user_id = ${owner} AND number > ${after} AND ${sql.in("type", include)}
          ORDER BY number LIMIT ${limit}
        ) c ON true
        WHERE n.user_id = ${owner} ORDER BY c.number`
  })

  // A row that is deleted and purged while an account is read has no place in the order any more.
  const findPlace = SqlSchema.findOneOption({
    Request: Schema.Struct({ table: Schema.String, owner: UserId, id: Schema.Int }),
    Result: Schema.Struct({ place: Schema.String }),
    execute: ({ id, owner, table }) =>
      sql`SELECT created_at::text AS place FROM ${sql(table)} WHERE id = ${id} AND user_id = ${owner}`
  })

  /**
   * Selects ids of a type after one of them, newest first, of rows that are unchanged since the number: changes come
   * after the account. Returns undefined if that one is gone.
   */
  const idsAfter = Effect.fnUntraced(
    function*(type: "collection" | "route", owner: UserId, number: number, after: number, limit: number) {
      const { alias, table } = SHARED[type]
      const row = sql.literal(alias)
      const place = after === 0 ? Option.none() : yield* findPlace({ table, owner, id: after })
      if (after !== 0 && Option.isNone(place)) return undefined
      const isAfter = Option.match(place, {
        onNone: () => sql`true`,
        onSome: ({ place }) => sql`(${row}.created_at, ${row}.id) < (${place}::text::timestamptz, ${after})`
      })
      return sql`
        SELECT ${row}.id FROM ${sql(table)} ${row}
        WHERE ${visibility[type].own(owner)} AND ${isAfter} AND NOT EXISTS (
          SELECT FROM changes n
          WHERE n.user_id = ${owner} AND n.type = ${type} AND n.id = ${row}.id AND n.number > ${number}
        ) ORDER BY ${row}.created_at DESC, ${row}.id DESC LIMIT ${limit + 1}`
    }
  )

  const ownCollections = (owner: UserId, ids: ReadonlyArray<number>) =>
    collections.ownByIds(owner, ids.filter(isCollectionId))

  const routesOf = Effect.fnUntraced(function*(owner: UserId, ids: ReadonlyArray<number>, form: GeometryForm) {
    if (ids.length === 0) return { routes: [], last: undefined }
    const wanted = sql`
      SELECT r.id, w.place FROM unnest(${bigints(ids)}::bigint[]) WITH ORDINALITY AS w (id, place)
        JOIN routes r ON r.id = w.id WHERE ${visibility.route.own(owner)}`
    return yield* readRoutes(owner, wanted, sql`f.place`, form, ids.length)
  })

  const routesAfter = Effect.fnUntraced(
    function*(owner: UserId, number: number, after: number, { form, limit }: Wanted) {
      const ids = yield* idsAfter("route", owner, number, after, limit)
      if (ids === undefined) return undefined
      const { last, routes } = yield* readRoutes(owner, ids, sql`r.created_at DESC, r.id DESC`, form, limit)
      return { changes: routes.map(routeChange), last }
    }
  )

  const collectionsAfter = Effect.fnUntraced(function*(owner: UserId, number: number, after: number, limit: number) {
    const selected = yield* idsAfter("collection", owner, number, after, limit)
    if (selected === undefined) return undefined
    const rows = yield* selected
    const ids = (yield* Effect.orDie(decodeCollectionIds(rows.slice(0, limit)))).map(({ id }) => id)
    const found = yield* ownCollections(owner, ids)
    return { changes: found.map(collectionChange), last: rows.length > limit ? ids.at(-1) : undefined }
  })

  const accountAfter = (owner: UserId, number: number) =>
    Effect.map(account(owner), (found) => ({
      changes: found.filter(({ version }) => version <= number),
      last: undefined
    }))

  return {
    /** Reads a page of the rows of a type after one of them, newest first. Returns undefined if that one is gone. */
    rowsAfter: (
      owner: UserId,
      number: number,
      { id, type }: Row,
      wanted: Wanted
    ): Effect.Effect<Part | undefined, DatabaseError> => {
      switch (type) {
        case "route":
          return routesAfter(owner, number, id, wanted)
        case "collection":
          return collectionsAfter(owner, number, id, wanted.limit)
        case "link":
          return linksAfter(owner, number, id, wanted.limit)
        case "account":
          return accountAfter(owner, number)
      }
    },

    /**
     * Reads the changes after a number, in order, and the number that they lead to. Returns undefined if a deletion
     * after the number was purged. Omits a row that was deleted meanwhile, since its deletion comes later.
     */
    changesAfter: Effect.fnUntraced(function*(owner: UserId, after: number, { form, include, limit }: Wanted) {
      const rows = yield* findNumbered({ owner, after, include, limit: limit + 1 })
      if (rows[0] === undefined || rows[0].completeFrom > after) return undefined
      const covered = rows.slice(0, limit).filter(({ number }) => number !== null)
      const numbered = yield* decodeChanges(covered.map(({ change }) => change))
      const idsOf = (wanted: ChangeType) => numbered.filter(({ type }) => type === wanted).map(({ id }) => id)
      const { last, routes } = yield* routesOf(owner, idsOf("route"), form)
      const end = numbered.find(({ id, type }) => type === "route" && id === last)?.number
      const shown = numbered.filter(({ number }) => end === undefined || number <= end)
      const states = new Map<string, StoredChange>([
        ...routes.map((route) => [`route ${route.id}`, routeChange(route)] as const),
        ...(yield* ownCollections(owner, idsOf("collection"))).map((collection) =>
          [`collection ${collection.id}`, collectionChange(collection)] as const
        ),
        ...(yield* links(owner, idsOf("link"))).map((change) => [`link ${change.link.id}`, change] as const),
        ...(idsOf("account").length === 0 ? [] : yield* account(owner)).map((change) =>
          [`account ${change.id}`, change] as const
        )
      ])
      const stateOf = ({ deletedAt, id, number, type, version }: NumberedChange): StoredChange | undefined =>
        states.get(`${type} ${id}`)
          ?? (deletedAt === null
            ? undefined
            : { type: "deleted", of: type, id, version: type === "link" ? number : version, deletedAt })
      return {
        changes: shown.flatMap((change) => stateOf(change) ?? []),
        number: end ?? covered.at(-1)?.number ?? after,
        isLast: end === undefined && rows.length <= limit
      }
    })
  }
})
