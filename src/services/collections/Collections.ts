import { Context, DateTime, Effect, flow, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import {
  type Addition,
  type CollectionPatch,
  MAX_IN_TRASH,
  MAX_ROUTES,
  type NewCollection,
  type StoredCollection
} from "../../schema/Collection.ts"
import { CollectionId, type CollectionRef, type RouteId, type UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import type { StoredCollectionRoute } from "../../schema/Route.ts"
import { textOrNull } from "../../schema/Text.ts"
import { Lanes } from "../admission/Lanes.ts"
import { quotaFailures } from "../admission/Quotas.ts"
import { databaseDefects, type DatabaseError } from "../db/DatabaseErrors.ts"
import { replicaReads } from "../db/ReadReplicas.ts"
import { makeSharedTime } from "../db/SharedTime.ts"
import { bigints, clientColumns, FIRST_VERSION, UNLESS_MADE } from "../db/Tables.ts"
import {
  ClientIdUsed,
  CollectionFull,
  Missing,
  type Overloaded,
  type QuotaExceeded,
  RoutesMissing,
  StaleVersion
} from "../DomainErrors.ts"
import { longestRun } from "../files/FileValues.ts"
import { makeRequireActive } from "../identity/Users.ts"
import type { RouteForm } from "../routes/RouteRow.ts"
import { type ExpectedVersion, isExpected } from "../routes/Routes.ts"
import { shareTokens } from "../sharing/ShareLinks.ts"
import type { Viewer } from "../sharing/Visibility.ts"
import {
  type CollectionChanges,
  collectionQueries,
  collectionRouteQueries,
  collections,
  type Member,
  NewCollectionRow,
  withHidden
} from "./CollectionRows.ts"

/** With this distance 1,000 routes use half of the range of an integer. */
const GAP = 2 ** 20

const MAX_POSITION = 2 ** 31 - 1

/** Spreads positions evenly between two others; undefined if there is no room. */
const between = (routeIds: ReadonlyArray<RouteId>, before: number | undefined, after: number | undefined) => {
  const parts = routeIds.length + 1
  const lower = before ?? (after ?? 0) - parts * GAP
  const upper = after ?? lower + parts * GAP
  const hasRoom = upper - lower >= parts && lower >= -MAX_POSITION && upper <= MAX_POSITION
  return hasRoom
    ? routeIds.map((routeId, index) => ({
      routeId,
      position: lower + Math.floor(((upper - lower) * (index + 1)) / parts)
    }))
    : undefined
}

/** Changes few positions: pages begin after a position, and must neither skip nor repeat a route while others move. */
export const positionsOf = (
  current: ReadonlyArray<Member>,
  wanted: ReadonlyArray<RouteId>
): ReadonlyArray<Member> => {
  const positions = new Map(current.map(({ position, routeId }) => [routeId, position]))
  const known = wanted.flatMap((routeId, index) => {
    const position = positions.get(routeId)
    return position === undefined ? [] : [{ routeId, position, index }]
  })
  const kept = longestRun(known.map(({ position }) => position)).flatMap((index) => known[index] ?? [])
  const first = between(wanted.slice(0, kept[0]?.index), undefined, kept[0]?.position)
  const runs = kept.map(({ index, position, routeId }, place) => {
    const next = kept[place + 1]
    return between(wanted.slice(index + 1, next?.index), position, next?.position)?.toSpliced(0, 0, {
      routeId,
      position
    })
  })
  const all = [first, ...runs]
  return all.every((run) => run !== undefined)
    ? all.flat()
    : wanted.map((routeId, index) => ({ routeId, position: (index + 1) * GAP }))
}

/** Writes the order of a collection that the caller has locked. A known route may be erased meanwhile: it stays away. */
const collectionOrder = Effect.map(SqlClient.SqlClient, (sql) => {
  const listed = (members: ReadonlyArray<Member>) =>
    sql`unnest(${bigints(members.map(({ routeId }) => routeId))}::bigint[], ${
      members.map(({ position }) => position)
    }::int[]) AS ids (member, place)`

  return Effect.fnUntraced(function*(
    id: CollectionId,
    current: ReadonlyArray<Member>,
    wanted: ReadonlyArray<RouteId>
  ) {
    const known = new Map(current.map(({ position, routeId }) => [routeId, position]))
    const members = positionsOf(current, wanted)
    const moved = members.filter(({ position, routeId }) => (known.get(routeId) ?? position) !== position)
    const added = members.filter(({ routeId }) => !known.has(routeId))
    if (members.length - added.length < current.length) {
      yield* sql`
        DELETE FROM collection_routes
        WHERE collection_id = ${id} AND route_id <> ALL(${bigints(wanted)}::bigint[])`
    }
    if (moved.length > 0) {
      yield* sql`
        UPDATE collection_routes SET position = place FROM ${listed(moved)}
        WHERE collection_id = ${id} AND route_id = member`
    }
    if (added.length > 0) {
      yield* sql`
        INSERT INTO collection_routes (collection_id, route_id, position)
        SELECT ${id}, member, place FROM ${listed(added)}
        ON CONFLICT (collection_id, route_id) DO UPDATE SET position = excluded.position`
    }
  })
})

const isSameOrder = (current: ReadonlyArray<Member>, wanted: ReadonlyArray<RouteId>) =>
  current.length === wanted.length && current.every(({ routeId }, index) => routeId === wanted[index])

type ChangeFailure = Missing | RoutesMissing | StaleVersion | CollectionFull | Overloaded

type Change<A> = (
  owner: UserId,
  id: CollectionId,
  value: A,
  expected: ExpectedVersion
) => Effect.Effect<StoredCollection, ChangeFailure>

const contentOf = ({ description, name, routeIds, visibility }: NewCollection) => ({
  name,
  description: textOrNull(description) ?? null,
  visibility: visibility ?? "private" as const,
  routeIds: routeIds ?? []
})
type Content = ReturnType<typeof contentOf>

/**
 * A collection is an ordered list of the owner's routes and of others' public ones, as visible as a route. Changes take
 * a turn of the account (`Lanes.writes`), and may fail with `Overloaded`.
 */
export class Collections extends Context.Service<Collections, {
  /** Creates a collection, or repeats as `Routes.create`. Fails with `RoutesMissing` for routes it may not have. */
  readonly create: (
    owner: UserId,
    collection: NewCollection
  ) => Effect.Effect<StoredCollection, ClientIdUsed | Missing | RoutesMissing | QuotaExceeded | Overloaded>
  /** Lists the owner's collections of every visibility, newest first; `q` selects those that have its words. */
  readonly list: (owner: UserId, q: string | undefined, page: Page) => Effect.Effect<PageOf<StoredCollection>>
  /**
   * Lists a user's public collections, newest first. Fails with `Missing` without such a user or while their deletion
   * is pending, with `Overloaded` if too many lists are read, or if it is not counted within a second.
   */
  readonly byUser: (owner: UserId, page: Page) => Effect.Effect<PageOf<StoredCollection>, Missing | Overloaded>
  /** Finds a collection by the rules of `Routes.get`. Other users' collections by id come without their share token. */
  readonly get: (ref: CollectionRef, viewer: Viewer) => Effect.Effect<StoredCollection, Missing>
  /** Lists the routes that the viewer may see, in order. Unlisted ones need the owner or the share token. */
  readonly routes: (
    ref: CollectionRef,
    viewer: Viewer,
    page: Page,
    form: RouteForm
  ) => Effect.Effect<PageOf<StoredCollectionRoute>, Missing>
  /** Fails for routes that a new collection, or this one, may not have. */
  readonly requireAddable: (
    owner: UserId,
    routeIds: ReadonlyArray<RouteId>,
    collection?: CollectionId
  ) => Effect.Effect<void, RoutesMissing>
  readonly requireOwn: (
    owner: UserId,
    id: CollectionId
  ) => Effect.Effect<Pick<StoredCollection, "id" | "name">, Missing>
  /** Finds the oldest of the owner's collections of a name. */
  readonly named: (owner: UserId, name: string) => Effect.Effect<Option.Option<CollectionId>>
  readonly update: Change<CollectionPatch>
  /** Moves the collection to the trash, which keeps the newest `MAX_IN_TRASH`. */
  readonly remove: (
    owner: UserId,
    id: CollectionId,
    expected: ExpectedVersion
  ) => Effect.Effect<void, Missing | StaleVersion | Overloaded>
  readonly setRoutes: Change<ReadonlyArray<RouteId>>
  /** Adds a route at an index, or moves it there. */
  readonly addRoute: Change<Addition>
  readonly removeRoute: Change<RouteId>
}>()("route-planning-service/Collections") {
  static readonly layer = Layer.effect(
    Collections,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const sharedTime = yield* makeSharedTime
      const shareToken = yield* shareTokens
      const queries = yield* collectionQueries
      const members = yield* collectionRouteQueries
      const arrange = yield* collectionOrder
      const requireActive = yield* makeRequireActive
      const { writes } = yield* Lanes
      const { whileAway } = yield* replicaReads

      const insert = SqlSchema.findOneOption({
        Request: NewCollectionRow,
        Result: Schema.Struct({ id: CollectionId }),
        execute: (values) => sql`${collections.insert(sql, values)} ${sql.literal(UNLESS_MADE)} RETURNING id`
      })

      const made = Effect.fnUntraced(function*(
        owner: UserId,
        { clientDigest, clientId }: ReturnType<typeof clientColumns>,
        { description, name, routeIds, visibility }: Content
      ) {
        const first = yield* queries.findMade({ owner, clientId })
        if (Option.isNone(first)) return yield* new ClientIdUsed()
        const now = yield* queries.find(first.value.id, Option.some(owner))
        if (first.value.clientDigest !== clientDigest) return now
        const { description: _laterText, id, name: _laterName, ...present } = now
        return {
          id,
          name,
          ...(description === null ? {} : { description }),
          ...present,
          visibility,
          routeIds,
          routeCount: routeIds.length,
          updatedAt: present.createdAt,
          version: FIRST_VERSION
        }
      })

      const requireAddable = (owner: UserId, routeIds: ReadonlyArray<RouteId>, collection?: CollectionId) =>
        Effect.flatMap(
          queries.notAddable(owner, routeIds, collection),
          (missing) => missing.length > 0 ? Effect.fail(new RoutesMissing({ routeIds: missing })) : Effect.void
        )

      /** A route that is being erased is waited for, and is missing then. */
      const lockAddable = Effect.fnUntraced(
        function*(owner: UserId, routeIds: ReadonlyArray<RouteId>, collection?: CollectionId) {
          if (routeIds.length === 0) return
          yield* sql`SELECT FROM routes WHERE ${sql.in("id", routeIds)} ORDER BY id FOR KEY SHARE`
          yield* requireAddable(owner, routeIds, collection)
        }
      )

      // The collection is locked, so that concurrent additions of two devices are both kept.
      const requireVersion = Effect.fnUntraced(function*(owner: UserId, id: CollectionId, expected: ExpectedVersion) {
        const stored = yield* queries.lockVersion({ owner, id })
        if (Option.isNone(stored)) return yield* new Missing({ kind: "collection" })
        if (!isExpected(expected, stored.value)) {
          return yield* new StaleVersion({ kind: "collection", current: stored.value.version })
        }
      })

      const touch = (id: CollectionId, changes: CollectionChanges, isChanged: Statement.Fragment = sql`true`) =>
        Effect.flatMap(
          DateTime.nowAsDate,
          (updatedAt) =>
            sql`UPDATE collections SET ${
              collections.set(sql, { ...changes, updatedAt })
            }, version = version + 1 WHERE id = ${id} AND ${isChanged}`
        )

      const rearrange = (
        id: CollectionId,
        current: ReadonlyArray<Member>,
        kept: ReadonlyArray<Member>,
        wanted: ReadonlyArray<RouteId>
      ) =>
        isSameOrder(current, wanted)
          ? Effect.void
          : Effect.andThen(arrange(id, kept, wanted), touch(id, {}))

      /** A place counts the routes that the owner sees: one in the trash, or hidden by another, stays between them. */
      const indexOf = Effect.fnUntraced(function*(
        owner: UserId,
        id: CollectionId,
        others: ReadonlyArray<Member>,
        { place, routeId }: { readonly place: number; readonly routeId: RouteId }
      ) {
        const { routeIds } = yield* queries.find(id, Option.some(owner))
        const next = routeIds.filter((shown) => shown !== routeId)[place]
        return next === undefined ? others.length : others.findIndex((other) => other.routeId === next)
      })

      // A collection that is being restored is left out: its transaction may wait for this one.
      const purgeExcess = (owner: UserId) =>
        sql`
          DELETE FROM collections WHERE id IN (
            SELECT id FROM collections WHERE id IN (
              SELECT id FROM collections WHERE user_id = ${owner} AND deleted_at IS NOT NULL
              ORDER BY deleted_at DESC, id DESC OFFSET ${MAX_IN_TRASH}
            ) FOR UPDATE SKIP LOCKED
          )`

      const changing = <A>(
        change: (
          owner: UserId,
          id: CollectionId,
          value: A
        ) => Effect.Effect<unknown, ChangeFailure | DatabaseError>
      ): Change<A> =>
        Effect.fnUntraced(
          function*(owner: UserId, id: CollectionId, value: A, expected: ExpectedVersion) {
            yield* requireVersion(owner, id, expected)
            yield* change(owner, id, value)
            return yield* queries.find(id, Option.some(owner))
          },
          sql.withTransaction,
          (changed, owner) => writes(owner, changed),
          databaseDefects
        )

      return Collections.of({
        create: Effect.fnUntraced(
          function*(owner, collection) {
            const now = yield* DateTime.nowAsDate
            const { routeIds, ...values } = contentOf(collection)
            const client = clientColumns(collection.clientId, { ...values, routeIds })
            const added = yield* insert({
              userId: owner,
              ...values,
              ...client,
              shareToken: yield* shareToken,
              importedFrom: null,
              createdAt: now,
              updatedAt: now
            })
            if (Option.isNone(added)) return yield* made(owner, client, { ...values, routeIds })
            const { id } = added.value
            yield* lockAddable(owner, routeIds)
            yield* arrange(id, [], routeIds)
            return yield* queries.find(id, Option.some(owner))
          },
          sql.withTransaction,
          (change, owner) => writes(owner, change),
          quotaFailures
        ),

        list: queries.own,
        byUser: (owner, page) =>
          databaseDefects(whileAway(Effect.andThen(requireActive(owner), queries.publicOf(owner, page)))),
        get: (ref, viewer) => whileAway(queries.find(ref, viewer), () => typeof ref === "number").pipe(databaseDefects),

        routes: (ref, viewer, page, form) =>
          whileAway(members.page(ref, viewer, page, form), () => typeof ref === "number").pipe(databaseDefects),

        requireAddable: flow(requireAddable, databaseDefects),

        requireOwn: Effect.fnUntraced(function*(owner, id) {
          const row = yield* queries.findName({ owner, id })
          return Option.isSome(row) ? { id, name: row.value.name } : yield* new Missing({ kind: "collection" })
        }, databaseDefects),

        named: (owner, name) =>
          Effect.orDie(Effect.map(queries.findNamed({ owner, name }), Option.map(({ id }) => id))),

        update: changing((_owner, id, { description, name, visibility }) => {
          const changes = { name, visibility, description: textOrNull(description) }
          return touch(id, changes, collections.differs(changes))
        }),

        remove: Effect.fnUntraced(
          function*(owner, id, expected) {
            yield* requireVersion(owner, id, expected)
            yield* touch(id, { deletedAt: new Date(yield* sharedTime) })
            yield* purgeExcess(owner)
          },
          sql.withTransaction,
          (change, owner) => writes(owner, change),
          databaseDefects
        ),

        setRoutes: changing(
          Effect.fnUntraced(function*(owner, id, routeIds) {
            yield* lockAddable(owner, routeIds, id)
            const current = yield* queries.order(id)
            const shown = yield* queries.find(id, Option.some(owner))
            const order = withHidden(current, shown.routeIds, routeIds)
            if (order.length > MAX_ROUTES) return yield* new CollectionFull({ limit: MAX_ROUTES })
            yield* rearrange(id, current, current, order)
          })
        ),

        addRoute: changing(
          Effect.fnUntraced(function*(owner, id, { position, routeId }) {
            yield* lockAddable(owner, [routeId], id)
            const current = yield* queries.order(id)
            const others = current.filter((other) => other.routeId !== routeId)
            if (others.length >= MAX_ROUTES) {
              return yield* new CollectionFull({ limit: MAX_ROUTES })
            }
            const index = typeof position === "number"
              ? yield* indexOf(owner, id, others, { place: position, routeId })
              : others.length
            yield* rearrange(id, current, others, others.map((other) => other.routeId).toSpliced(index, 0, routeId))
          })
        ),

        removeRoute: changing(
          Effect.fnUntraced(function*(_owner, id, routeId) {
            const rows = yield* sql`
              DELETE FROM collection_routes WHERE collection_id = ${id} AND route_id = ${routeId} RETURNING route_id`
            if (rows.length === 0) return yield* new Missing({ kind: "member" })
            yield* touch(id, {})
          })
        )
      })
    })
  )
}
