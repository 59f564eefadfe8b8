import { Array as Arrays, Context, DateTime, Duration, Effect, flow, Layer, Option, Schema, Struct } from "effect"
import { Model } from "effect/schema"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import type { DeletedStoredCollection, StoredCollection } from "../../schema/Collection.ts"
import { CollectionId, type CollectionRef, RouteId, ShareToken, UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { Visibility } from "../../schema/Resource.ts"
import type { StoredCollectionRoute } from "../../schema/Route.ts"
import { Lanes, sharedTotals } from "../admission/Lanes.ts"
import { quotaFailures } from "../admission/Quotas.ts"
import { countRows, type ListOrder, readableRows, selectPage } from "../db/Lists.ts"
import { replicaReads } from "../db/ReadReplicas.ts"
import { deletionCutoff, trashedAt } from "../db/Sweeps.ts"
import {
  type Changes,
  columnsOf,
  DeletionColumn,
  Instant,
  InstantOnce,
  readOnly,
  tableOf,
  writtenOnce
} from "../db/Tables.ts"
import { Missing, type Overloaded, type QuotaExceeded } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { ownerColumns, OwnerFields, toUserSummary } from "../identity/Users.ts"
import { boundedPage, extentOf } from "../routes/RouteLists.ts"
import { forOthers, type RouteForm, RouteRow, toStoredRoute } from "../routes/RouteRow.ts"
import { type Trash, trashQueries } from "../routes/RouteTrash.ts"
import { RouteViews } from "../routes/RouteViews.ts"
import { LinkUses } from "../sharing/LinkUses.ts"
import {
  ANONYMOUS,
  collectionVisibility,
  firstOpened,
  idOf,
  OpenedFields,
  type Opening,
  routeVisibility,
  type Viewer
} from "../sharing/Visibility.ts"

export class CollectionRecord extends Model.Class<CollectionRecord>("CollectionRecord")({
  id: readOnly(CollectionId),
  userId: writtenOnce(UserId),
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  visibility: Visibility,
  shareToken: writtenOnce(ShareToken),
  importedFrom: Model.Field({ insert: Schema.NullOr(ShareToken) }),
  clientId: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  clientDigest: Model.Field({ insert: Schema.NullOr(Schema.String) }),
  version: readOnly(Schema.Int),
  createdAt: InstantOnce,
  updatedAt: Instant,
  deletedAt: Model.Field({ update: Schema.NullOr(Schema.Date) })
}) {}

export const collections = tableOf("collections", CollectionRecord)
export const NewCollectionRow = Schema.toType(CollectionRecord.insert)
export type CollectionChanges = Changes<typeof CollectionRecord.update.Type>

const OwnColumns = CollectionRecord.select.mapFields(Struct.omit(["userId"]))

const CollectionRow = Schema.Struct({ ...OwnColumns.fields, ...OwnerFields, routeIds: Schema.Array(RouteId) })
type CollectionRow = typeof CollectionRow.Type

// Responses have their members in this order, and the ETag is computed from that text.
const toStoredCollection = (
  { description, routeIds, ...row }: CollectionRow,
  pseudonyms: Pseudonyms["Service"]
): StoredCollection => ({
  id: row.id,
  name: row.name,
  ...(description === null ? {} : { description }),
  visibility: row.visibility,
  routeIds,
  routeCount: routeIds.length,
  shareToken: row.shareToken,
  user: toUserSummary(row, pseudonyms),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  version: row.version
})

const DeletedCollectionRow = Schema.Struct({ ...CollectionRow.fields, deletedAt: DeletionColumn })

/** A share token gives access to unlisted routes, so only viewers who have it, or the owner, get it. */
const withoutToken = (collection: StoredCollection): StoredCollection => Struct.omit(collection, ["shareToken"])

const OwnCollection = Schema.Struct({ owner: UserId, id: CollectionId })
const latest = (by: string): ListOrder => ({ by, type: "timestamptz", id: "c.id", direction: "DESC" })
const NEWEST = latest("c.created_at")
const NEWEST_DELETION = latest("c.deleted_at")

/** The queries are on `collections c`, their members `m` and the members' routes `r`. */
export const collectionQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pseudonyms = yield* Pseudonyms
  const links = yield* LinkUses
  const { publicLists } = yield* Lanes
  const visibility = collectionVisibility(sql)
  const routes = routeVisibility(sql)
  const toStored = (row: CollectionRow) => toStoredCollection(row, pseudonyms)
  const decodeRows = flow(readableRows("collections", CollectionRow), Effect.map(Arrays.map(toStored)))
  const toDeleted = (row: typeof DeletedCollectionRow.Type): DeletedStoredCollection => ({
    ...toStored(row),
    ...trashedAt(row.deletedAt)
  })
  const decodeDeleted = flow(readableRows("collections", DeletedCollectionRow), Effect.map(Arrays.map(toDeleted)))

  const columns = (viewer: number) =>
    sql`
      ${sql.literal(columnsOf(OwnColumns, "c"))}, ${sql.literal(ownerColumns)}, coalesce((
          SELECT array_agg(m.route_id::float8 ORDER BY m.position, m.route_id)
          FROM collection_routes m JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
          WHERE m.collection_id = c.id AND ${routes.listed(viewer)}
        ), '{}') AS "routeIds"`

  const tables = sql`collections c JOIN users u ON u.id = c.user_id`

  const hasWords = (q: string) =>
    sql`search_vector(concat_ws(' ', c.name, c.description)) @@ search_query('', ${q}, '&')`

  const page = (where: Statement.Fragment, viewer: number, wanted: Page, known: { readonly total?: number } = {}) =>
    selectPage(sql, { columns: columns(viewer), tables, where, order: NEWEST, decode: decodeRows, ...known }, wanted)

  const publicOf = (owner: UserId) => sql`c.user_id = ${owner} AND ${visibility.public}`

  const { totalWhileAway } = yield* replicaReads
  const publicTotal = yield* sharedTotals(
    (owner: string) => totalWhileAway(countRows(sql, sql`${tables} WHERE ${publicOf(UserId.make(Number(owner)))}`)),
    Duration.zero
  )

  const findOrder = SqlSchema.findAll({
    Request: CollectionId,
    Result: MemberRow,
    execute: (id) =>
      sql`
        SELECT route_id AS "routeId", position FROM collection_routes
        WHERE collection_id = ${id} ORDER BY position, route_id`
  })

  const findAddable = SqlSchema.findAll({
    Request: Schema.Struct({
      owner: UserId,
      routeIds: Schema.Array(RouteId),
      collection: Schema.UndefinedOr(CollectionId)
    }),
    Result: Schema.Struct({ id: RouteId }),
    execute: ({ collection, owner, routeIds }) =>
      sql`
        SELECT r.id FROM routes r JOIN users u ON u.id = r.user_id
        WHERE ${sql.in("r.id", routeIds)} AND ${routes.addable(owner, collection)}`
  })

  const lockVersion = SqlSchema.findOneOption({
    Request: OwnCollection,
    Result: CollectionRecord.select.mapFields(Struct.pick(["version", "updatedAt"])),
    execute: ({ id, owner }) =>
      sql`
        SELECT version, updated_at AS "updatedAt" FROM collections c
        WHERE c.id = ${id} AND ${visibility.own(owner)} FOR UPDATE`
  })

  const findName = SqlSchema.findOneOption({
    Request: OwnCollection,
    Result: CollectionRecord.select.mapFields(Struct.pick(["name"])),
    execute: ({ id, owner }) => sql`SELECT name FROM collections c WHERE c.id = ${id} AND ${visibility.own(owner)}`
  })

  const findNamed = SqlSchema.findOneOption({
    Request: Schema.Struct({ owner: UserId, name: Schema.String }),
    Result: CollectionRecord.select.mapFields(Struct.pick(["id"])),
    execute: ({ name, owner }) =>
      sql`SELECT id FROM collections c WHERE c.name = ${name} AND ${visibility.own(owner)} ORDER BY id LIMIT 1`
  })

  const findMade = SqlSchema.findOneOption({
    Request: Schema.Struct({ owner: UserId, clientId: Schema.NullishOr(Schema.String) }),
    Result: Schema.Struct({ id: CollectionId, clientDigest: Schema.NullOr(Schema.String) }),
    execute: ({ clientId, owner }) =>
      sql`
        SELECT id, client_digest AS "clientDigest" FROM collections c
        WHERE c.client_id = ${clientId}::uuid AND ${visibility.own(owner)}`
  })

  const decodeOpened = Schema.decodeUnknownEffect(Schema.Struct({ ...CollectionRow.fields, ...OpenedFields }))

  return {
    find: Effect.fnUntraced(function*(ref: CollectionRef, viewer: Viewer) {
      const viewerId = idOf(viewer)
      const now = yield* DateTime.nowAsDate
      const [found] = yield* firstOpened(
        ref,
        now,
        (opening) => visibility.selectOpened(columns(viewerId), opening, viewerId)
      )
      if (found === undefined) return yield* new Missing({ kind: "collection" })
      const row = yield* decodeOpened(found)
      const collection = toStored(row)
      if (collection.user.id === viewerId) return collection
      const shown = typeof ref === "number" ? withoutToken(collection) : collection
      return { ...shown, ...yield* links.follow(ref, row) }
    }),

    own: (owner: UserId, q: string | undefined, wanted: Page) => {
      const own = visibility.own(owner)
      return Effect.orDie(page(q === undefined ? own : sql`${own} AND ${hasWords(q)}`, owner, wanted))
    },

    deleted: (owner: UserId, since: Date, wanted: Page) =>
      Effect.orDie(selectPage(sql, {
        columns: sql`${columns(owner)}, c.deleted_at AS "deletedAt"`,
        tables,
        where: sql`c.user_id = ${owner} AND c.deleted_at > ${since}`,
        order: NEWEST_DELETION,
        decode: decodeDeleted
      }, wanted)),

    /** Reads an owner's collections with these ids that are not deleted, in no order. */
    ownByIds: Effect.fnUntraced(function*(owner: UserId, ids: ReadonlyArray<CollectionId>) {
      if (ids.length === 0) return []
      const where = sql`${visibility.own(owner)} AND ${sql.in("c.id", ids)}`
      return yield* decodeRows(yield* sql`SELECT ${columns(owner)} FROM ${tables} WHERE ${where}`)
    }),

    publicOf: Effect.fnUntraced(function*(owner: UserId, wanted: Page) {
      const total = yield* publicTotal(String(owner))
      const { items, ...found } = yield* publicLists(page(publicOf(owner), ANONYMOUS, wanted, { total }))
      return { ...found, items: items.map(withoutToken) }
    }),

    lockVersion,
    findMade,
    findNamed,
    findName,

    notAddable: Effect.fnUntraced(function*(
      owner: UserId,
      routeIds: ReadonlyArray<RouteId>,
      collection: CollectionId | undefined
    ) {
      if (routeIds.length === 0) return []
      const addable = new Set((yield* findAddable({ owner, routeIds, collection })).map(({ id }) => id))
      return routeIds.filter((id) => !addable.has(id))
    }),

    /** Lists the members in order, hidden routes included. */
    order: findOrder
  }
})

const MemberRow = Schema.Struct({ routeId: RouteId, position: Schema.Int })
export type Member = typeof MemberRow.Type

/** Adds to an order the members that the owner does not see, each behind the one that it followed. */
export const withHidden = (
  current: ReadonlyArray<Member>,
  shown: ReadonlyArray<RouteId>,
  wanted: ReadonlyArray<RouteId>
): ReadonlyArray<RouteId> => {
  const seen = new Set([...shown, ...wanted])
  const order = [...wanted]
  let place = 0
  for (const { routeId } of current) {
    if (seen.has(routeId)) place = order.indexOf(routeId) + 1 || place
    else order.splice(place++, 0, routeId)
  }
  return order
}

const IN_ORDER: ListOrder = { by: "position", type: "int", id: "route_id", direction: "ASC" }

const decodeOpened = Schema.decodeUnknownEffect(
  Schema.Struct({ ...OpenedFields, collectionOwner: UserId, total: Schema.Int })
)

export const collectionRouteQueries = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const pseudonyms = yield* Pseudonyms
  const links = yield* LinkUses
  const views = yield* RouteViews
  const { selectOpened } = collectionVisibility(sql)
  const { shownIn } = routeVisibility(sql)
  const decodeRows = readableRows("routes", RouteRow)

  return {
    /** One statement decides and reads, so that no route hidden in between is returned. */
    page: Effect.fnUntraced(function*(ref: CollectionRef, viewer: Viewer, page: Page, form: RouteForm) {
      const viewerId = idOf(viewer)
      const now = yield* DateTime.nowAsDate
      const select = (opening: Opening) =>
        sql`
        WITH opened AS (
          ${selectOpened(sql`c.id, c.user_id`, opening, viewerId)}
        ), shown AS (
          SELECT m.route_id, m.position
          FROM opened c JOIN collection_routes m ON m.collection_id = c.id
            JOIN routes r ON r.id = m.route_id JOIN users u ON u.id = r.user_id
          WHERE ${shownIn(ref, viewerId)}
        )
        SELECT (SELECT count(*)::int FROM shown) AS total, opened.user_id AS "collectionOwner", "linkId", "allowDownload",
          p.*
        FROM opened LEFT JOIN (
          ${boundedPage(sql, { from: sql`shown WHERE true`, order: IN_ORDER, page, form, seenBy: viewerId })}
        ) p ON true
        ORDER BY p.page_place`
      const rows = yield* firstOpened(ref, now, (opening) => views.completed(select(opening)))
      const [first] = rows
      if (first === undefined) return yield* new Missing({ kind: "collection" })
      const found = rows.filter(({ id }) => id !== null)
      const items = yield* decodeRows(found)
      const opened = yield* decodeOpened(first)
      if (opened.collectionOwner !== viewerId) yield* links.follow(ref, opened)
      const shown = (row: RouteRow): StoredCollectionRoute => {
        if (row.userId === viewerId) return toStoredRoute(row, pseudonyms)
        const route = forOthers(row, pseudonyms)
        // The token of an unlisted route would outlive the link, and its owner may have replaced it to shut others out.
        const isShared = opened.linkId !== null || row.userId !== opened.collectionOwner
        const hasHiddenToken = isShared && row.visibility === "unlisted"
        return hasHiddenToken ? Struct.omit(route, ["shareToken"]) : route
      }
      return { ...yield* extentOf(found), total: opened.total, items: items.map(shown) }
    })
  }
})

/** Deleted collections are in no quota. */
export class CollectionTrash extends Context.Service<
  CollectionTrash,
  Trash<CollectionId, StoredCollection, Missing | QuotaExceeded | Overloaded> & {
    /** Lists an owner's collections that can be restored, newest deletion first. */
    readonly list: (owner: UserId, page: Page) => Effect.Effect<PageOf<DeletedStoredCollection>>
  }
>()("route-planning-service/CollectionTrash") {
  static readonly layer = Layer.effect(
    CollectionTrash,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const queries = yield* collectionQueries
      const { writes } = yield* Lanes

      return CollectionTrash.of({
        ...yield* trashQueries("collection"),

        list: (owner, page) => Effect.flatMap(deletionCutoff, (since) => queries.deleted(owner, since, page)),

        restore: Effect.fnUntraced(
          function*(owner, id, { mayPublish }) {
            const rows = yield* sql`
              UPDATE collections SET deleted_at = NULL, updated_at = ${yield* DateTime.nowAsDate}, version = version + 1
              WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${yield* deletionCutoff}
                AND (${mayPublish} OR visibility <> 'public')
              RETURNING id`
            if (rows.length === 0) return yield* new Missing({ kind: "collection" })
            return yield* queries.find(id, Option.some(owner))
          },
          sql.withTransaction,
          (restoring, owner) => writes(owner, restoring),
          quotaFailures
        )
      })
    })
  )
}
