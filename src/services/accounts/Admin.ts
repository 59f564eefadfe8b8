import { Clock, Context, Duration, Effect, Layer, Option, Schema, Struct } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import {
  type AdminRoute,
  type AdminUser,
  type AdminUserSort,
  Overview,
  type PendingDeletion
} from "../../schema/Admin.ts"
import { RouteId, type UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { deletionStatusOf } from "../../schema/User.ts"
import { Lanes } from "../admission/Lanes.ts"
import { STORED_BYTES, TOTAL_DISTANCE, TOTAL_ROUTES } from "../admission/Quotas.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { type ListOrder, newest, readableRows, selectPage } from "../db/Lists.ts"
import { makeSharedTime } from "../db/SharedTime.ts"
import { erasureDueAt } from "../db/Sweeps.ts"
import { columnsOf, DeletionColumn, TimestampColumn } from "../db/Tables.ts"
import { Missing, type Overloaded, OwnAccount } from "../DomainErrors.ts"
import { Audit } from "../identity/Audit.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { HAS_PASSWORD, ownerColumns, OwnerFields, Roles, toUserSummary, UserRecord } from "../identity/Users.ts"
import { asSeenBy, RouteRecord, SEEN_CITY, SEEN_DISTANCE, SEEN_TOTAL_DISTANCE } from "../routes/RouteRow.ts"
import { ANONYMOUS, isUnexpired } from "../sharing/Visibility.ts"
import { AccountDeletion } from "./Deletion.ts"
import { isLiveSession } from "./Sessions.ts"

const AdminUserColumns = UserRecord.select.mapFields(
  Struct.pick(["id", "email", "name", "handle", "deletionRequestedAt", "createdAt"])
)

const AdminUserRow = Schema.Struct({
  ...AdminUserColumns.fields,
  hasPassword: Schema.Boolean,
  hasIdentityProvider: Schema.Boolean,
  lastSeenAt: Schema.NullOr(TimestampColumn),
  storedBytes: Schema.Int,
  totalRoutes: Schema.Int,
  totalDistance: Schema.Finite
})

const toAdminUser = (
  { totalDistance, totalRoutes, ...row }: typeof AdminUserRow.Type,
  roles: Roles["Service"]
): AdminUser => ({
  ...row,
  isEmailVerified: true,
  role: roles.of(row),
  deletionStatus: deletionStatusOf(row.deletionRequestedAt),
  statistics: { totalRoutes, totalDistance }
})

const AdminRouteColumns = RouteRecord.select.mapFields(
  Struct.pick([
    "id",
    "name",
    "activity",
    "visibility",
    "provenance",
    "placeCountryCode",
    "createdAt",
    "updatedAt"
  ])
)

const { distance, placeCity } = RouteRecord.select.fields

const AdminRouteRow = Schema.Struct({ ...AdminRouteColumns.fields, distance, placeCity, ...OwnerFields })

const toAdminRoute = (row: typeof AdminRouteRow.Type, pseudonyms: Pseudonyms["Service"]): AdminRoute => ({
  ...Struct.omit(row, Struct.keys(OwnerFields)),
  user: toUserSummary(row, pseudonyms)
})

const OwnerRow = RouteRecord.select.mapFields(Struct.pick(["userId"]))

const DeletionColumns = UserRecord.select.mapFields(Struct.pick(["id", "email", "name", "handle"]))

const DeletionRow = Schema.Struct({ ...DeletionColumns.fields, deletionRequestedAt: DeletionColumn })

const toDeletion = ({ deletionRequestedAt, ...user }: typeof DeletionRow.Type): PendingDeletion => ({
  ...user,
  deletionRequestedAt: deletionRequestedAt.toISOString(),
  erasureDueAt: erasureDueAt(deletionRequestedAt).toISOString()
})

const USER_ORDERS: Readonly<Record<AdminUserSort, ListOrder>> = {
  "-createdAt": newest("u.id"),
  "-storedBytes": { by: STORED_BYTES, type: "bigint", id: "u.id", direction: "DESC" }
}

/** An undefined query matches all accounts. */
type Query = string | undefined

/** Every access of an administrator to accounts and routes leaves an audit entry. */
export class Administration extends Context.Service<Administration, {
  readonly overview: Effect.Effect<Overview>
  /** Lists accounts. The query is a part of an email address, name or handle. */
  readonly users: (admin: UserId, query: Query, sort: AdminUserSort, page: Page) => Effect.Effect<PageOf<AdminUser>>
  /** Audits the access with the account as subject. */
  readonly user: (admin: UserId, id: UserId) => Effect.Effect<AdminUser, Missing>
  /** Starts the grace period of an account's deletion. Fails with `OwnAccount` for the administrator's own account. */
  readonly deleteUser: (admin: UserId, id: UserId) => Effect.Effect<void, Missing | OwnAccount>
  /** Lists live routes of every visibility, newest first. The query is a part of the route's name or its owner's. */
  readonly routes: (admin: UserId, query: Query, page: Page) => Effect.Effect<PageOf<AdminRoute>>
  /** Moves a route to the trash as a private one: a restore does not publish it. Takes a turn (`Lanes.writes`). */
  readonly deleteRoute: (admin: UserId, id: RouteId) => Effect.Effect<void, Missing | Overloaded>
  /** Lists accounts whose deletion is pending; the first one is erased first. */
  readonly deletions: (admin: UserId, page: Page) => Effect.Effect<PageOf<PendingDeletion>>
}>()("route-planning-service/Administration") {
  static readonly layer = Layer.effect(
    Administration,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const sharedTime = yield* makeSharedTime
      const audit = yield* Audit
      const deletion = yield* AccountDeletion
      const pseudonyms = yield* Pseudonyms
      const roles = yield* Roles
      const { writes } = yield* Lanes

      // No index has substrings: queries are rare, and a scan of a million accounts is within the statement timeout.
      const has = (query: Query, ...columns: ReadonlyArray<string>) =>
        query === undefined
          ? sql`true`
          : sql.or(columns.map((column) => sql`strpos(lower(${sql.literal(column)}), lower(${query})) > 0`))

      const userColumns = sql.literal(`
        ${columnsOf(AdminUserColumns, "u")}, ${HAS_PASSWORD},
        EXISTS (SELECT FROM identities i WHERE i.user_id = u.id) AS "hasIdentityProvider",
        (SELECT max(s.last_seen_at) FROM sessions s WHERE s.user_id = u.id) AS "lastSeenAt",
        ${STORED_BYTES} AS "storedBytes", ${TOTAL_ROUTES} AS "totalRoutes",
        CASE WHEN u.zones_revision IS NULL THEN ${TOTAL_DISTANCE} ELSE (${SEEN_TOTAL_DISTANCE}) END AS "totalDistance"`)
      const users = sql`users u JOIN route_usage r ON r.user_id = u.id`

      const decodeUsers = readableRows("users", AdminUserRow)
      const decodeRoutes = readableRows("routes", AdminRouteRow)
      const decodeDeletions = readableRows("users", DeletionRow)

      const count = SqlSchema.findOne({
        Request: Schema.Struct({ now: Schema.Date, day: Schema.Date, month: Schema.Date }),
        Result: Schema.Struct({ overview: Overview }),
        execute: ({ day, month, now }) =>
          sql`
            SELECT json_build_object(
              'users', (SELECT json_build_object('total', count(*), 'verified', count(*),
                'pendingDeletion', count(deletion_requested_at),
                'newLast30Days', count(*) FILTER (WHERE created_at > ${month})) FROM users),
              'sessions', (SELECT json_build_object(
                'live', count(*) FILTER (WHERE ${isLiveSession(sql, now)}),
                'usersLast24Hours', count(DISTINCT user_id) FILTER (WHERE last_seen_at > ${day})) FROM sessions),
              'tokens', (SELECT json_build_object('live', count(*)) FROM personal_access_tokens
                WHERE ${isUnexpired(sql, now)}),
              'routes', (SELECT json_build_object('total', count(*),
                'private', count(*) FILTER (WHERE visibility = 'private'),
                'unlisted', count(*) FILTER (WHERE visibility = 'unlisted'),
                'public', count(*) FILTER (WHERE visibility = 'public'),
                'newLast30Days', count(*) FILTER (WHERE created_at > ${month}))
                FROM routes WHERE deleted_at IS NULL),
              'collections', (SELECT json_build_object('total', count(*)) FROM collections WHERE deleted_at IS NULL)
            ) AS overview`
      })

      const findOwner = SqlSchema.findOneOption({
        Request: RouteId,
        Result: OwnerRow,
        execute: (id) => sql`SELECT ${sql.literal(columnsOf(OwnerRow))} FROM routes WHERE id = ${id}`
      })

      const deleteRoute = Effect.fnUntraced(function*(admin: UserId, id: RouteId, owner: UserId) {
        const now = new Date(yield* sharedTime)
        const rows = yield* sql`
          UPDATE routes SET deleted_at = ${now}, visibility = 'private', version = version + 1
          WHERE id = ${id} AND deleted_at IS NULL RETURNING id`
        if (rows.length === 0) return yield* new Missing({ kind: "route" })
        yield* audit.record("admin.route_deleted", { userId: admin, subjectId: owner })
      }, sql.withTransaction)

      return Administration.of({
        overview: Effect.gen(function*() {
          const now = yield* Clock.currentTimeMillis
          const before = (duration: Duration.Duration) => new Date(now - Duration.toMillis(duration))
          const { overview } = yield* count({
            now: new Date(now),
            day: before(Duration.days(1)),
            month: before(Duration.days(30))
          })
          return overview
        }).pipe(Effect.orDie),

        users: Effect.fnUntraced(function*(admin, query, sort, page) {
          const where = has(query, "u.email", "u.name", "u.handle")
          const { items, ...found } = yield* selectPage(sql, {
            columns: userColumns,
            tables: users,
            counted: sql`users u`,
            where,
            order: USER_ORDERS[sort],
            decode: decodeUsers
          }, page)
          yield* audit.recordRead("admin.users_listed", { userId: admin })
          return { ...found, items: items.map((row) => toAdminUser(row, roles)) }
        }, Effect.orDie),

        user: Effect.fnUntraced(function*(admin, id) {
          const rows = yield* Effect.flatMap(sql`SELECT ${userColumns} FROM ${users} WHERE u.id = ${id}`, decodeUsers)
          const row = yield* Option.match(Option.fromNullishOr(rows[0]), {
            onNone: () => Effect.fail(new Missing({ kind: "user" })),
            onSome: Effect.succeed
          })
          yield* audit.recordRead("admin.user_viewed", { userId: admin, subjectId: id })
          return toAdminUser(row, roles)
        }, databaseDefects),

        deleteUser: Effect.fnUntraced(
          function*(admin, id) {
            if (admin === id) return yield* new OwnAccount()
            yield* deletion.request(id, admin)
            yield* audit.record("admin.user_deleted", { userId: admin, subjectId: id })
          },
          sql.withTransaction,
          databaseDefects
        ),

        routes: Effect.fnUntraced(function*(admin, query, page) {
          const { items, ...found } = yield* selectPage(sql, {
            columns: sql`
              ${sql.literal(columnsOf(AdminRouteColumns, "r"))}, ${sql.literal(SEEN_CITY)}, ${
              sql.literal(SEEN_DISTANCE)
            }, ${sql.literal(ownerColumns)}`,
            tables: sql`routes r JOIN users u ON u.id = r.user_id ${asSeenBy(sql, ANONYMOUS)}`,
            counted: sql`routes r JOIN users u ON u.id = r.user_id`,
            where: sql`r.deleted_at IS NULL AND ${has(query, "r.name", "u.email", "u.name", "u.handle")}`,
            order: newest("r.id"),
            decode: decodeRoutes
          }, page)
          yield* audit.recordRead("admin.routes_listed", { userId: admin })
          return { ...found, items: items.map((row) => toAdminRoute(row, pseudonyms)) }
        }, Effect.orDie),

        deleteRoute: Effect.fnUntraced(function*(admin, id) {
          const owner = yield* findOwner(id)
          if (Option.isNone(owner)) return yield* new Missing({ kind: "route" })
          const { userId } = owner.value
          yield* writes(userId, deleteRoute(admin, id, userId))
        }, databaseDefects),

        deletions: Effect.fnUntraced(function*(admin, page) {
          const { items, ...found } = yield* selectPage(sql, {
            columns: sql`${sql.literal(columnsOf(DeletionColumns))}, deletion_requested_at AS "deletionRequestedAt"`,
            tables: sql`users`,
            where: sql`deletion_requested_at IS NOT NULL`,
            order: { by: "deletion_requested_at", type: "timestamptz", id: "id", direction: "ASC" },
            decode: decodeDeletions
          }, page)
          yield* audit.recordRead("admin.deletions_listed", { userId: admin })
          return { ...found, items: items.map(toDeletion) }
        }, Effect.orDie)
      })
    })
  )
}
