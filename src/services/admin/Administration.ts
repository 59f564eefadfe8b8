import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { AdminRoute, AdminUser, Overview, PendingDeletion } from "../../schema/Admin.ts"
import { RouteId, type UserId } from "../../schema/Ids.ts"
import type { Page, PageOf } from "../../schema/Page.ts"
import { AccountDeletion } from "../accounts/AccountDeletion.ts"
import { Audit } from "../audit/Audit.ts"
import { Missing, type Overloaded, OwnAccount } from "../DomainErrors.ts"
import { HAS_PASSWORD } from "../identity/AccountState.ts"
import { ownerColumns } from "../identity/OwnerRows.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { Roles } from "../identity/Roles.ts"
import { TOTAL_DISTANCE, TOTAL_ROUTES } from "../limits/Quotas.ts"
import { WriterTurns } from "../limits/WriterTurns.ts"
import { asSeenBy, SEEN_CITY, SEEN_DISTANCE, SEEN_TOTAL_DISTANCE } from "../routes/RouteRows.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { newest } from "../sql/Keyset.ts"
import { selectPage } from "../sql/Pages.ts"
import { readableRows } from "../sql/ReadableRows.ts"
import { columnsOf } from "../sql/Tables.ts"
import { makeSharedTime } from "../time/SharedTime.ts"
import { traced } from "../tracing/Traced.ts"
import { ANONYMOUS, isUnexpired } from "../visibility/Visibility.ts"
import {
  AdminRouteColumns,
  AdminRouteRow,
  AdminUserColumns,
  AdminUserRow,
  DeletionColumns,
  DeletionRow,
  OverviewRow,
  OwnerRow,
  toAdminRoute,
  toAdminUser,
  toDeletion,
  toOverview
} from "./AdministrationRows.ts"

/** Undefined matches all. */
type Query = string | undefined

/** Actions of administrators. Every access to accounts and routes leaves an audit entry. */
export class Administration extends Context.Service<Administration, {
  readonly overview: Effect.Effect<Overview>
  /** Accounts, newest first. The query is a part of an email address, name or handle. */
  readonly users: (admin: UserId, query: Query, page: Page) => Effect.Effect<PageOf<AdminUser>>
  /** Audited with the account as subject. */
  readonly user: (admin: UserId, id: UserId) => Effect.Effect<AdminUser, Missing>
  /** Starts the grace period of an account's deletion. `OwnAccount` for the administrator's. */
  readonly deleteUser: (admin: UserId, id: UserId) => Effect.Effect<void, Missing | OwnAccount>
  /** Live routes of every visibility, newest first. The query is a part of the route's name or its owner's. */
  readonly routes: (admin: UserId, query: Query, page: Page) => Effect.Effect<PageOf<AdminRoute>>
  /**
   * Soft delete that also makes the route private, so that restoring it does not publish it. In a turn of its owner
   * (`WriterTurns`).
   */
  readonly deleteRoute: (admin: UserId, id: RouteId) => Effect.Effect<void, Missing | Overloaded>
  /** Accounts whose deletion is pending, next to be erased first. */
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
      const writers = yield* WriterTurns

      // No index for substrings: queries are rare, and scanning a million accounts stays within the statement timeout.
      const has = (query: Query, ...columns: ReadonlyArray<string>) =>
        query === undefined
          ? sql`true`
          : sql.or(columns.map((column) => sql`strpos(lower(${sql.literal(column)}), lower(${query})) > 0`))

      const userColumns = sql.literal(`
        ${columnsOf(AdminUserColumns, "u")}, ${HAS_PASSWORD},
        EXISTS (SELECT 1 FROM identities i WHERE i.user_id = u.id) AS "hasIdentityProvider",
        (SELECT max(s.last_seen_at) FROM sessions s WHERE s.user_id = u.id AND s.revoked_at IS NULL) AS "lastSeenAt",
        ${TOTAL_ROUTES} AS "totalRoutes",
        CASE WHEN u.zones_revision IS NULL THEN ${TOTAL_DISTANCE} ELSE (${SEEN_TOTAL_DISTANCE}) END AS "totalDistance"`)
      const users = sql`users u JOIN route_usage r ON r.user_id = u.id`

      const decodeUsers = readableRows("users", AdminUserRow)
      const decodeRoutes = readableRows("routes", AdminRouteRow)
      const decodeDeletions = readableRows("users", DeletionRow)

      const count = SqlSchema.findOne({
        Request: Schema.Struct({ now: Schema.Date, day: Schema.Date, month: Schema.Date }),
        Result: OverviewRow,
        execute: ({ day, month, now }) =>
          sql`
            SELECT u.*, s.*, t.*, r.*, c.* FROM
              (SELECT count(*)::int AS users, count(deletion_requested_at)::int AS "pendingDeletion",
                (count(*) FILTER (WHERE created_at > ${month}))::int AS "newUsers" FROM users) u,
              (SELECT count(*)::int AS "liveSessions",
                (count(DISTINCT user_id) FILTER (WHERE last_seen_at > ${day}))::int AS "seenUsers"
                FROM sessions WHERE revoked_at IS NULL AND expires_at > ${now}) s,
              (SELECT count(*)::int AS "liveTokens" FROM personal_access_tokens
                WHERE ${isUnexpired(sql, now)}) t,
              (SELECT count(*)::int AS routes, (count(*) FILTER (WHERE visibility = 'private'))::int AS "privateRoutes",
                (count(*) FILTER (WHERE visibility = 'unlisted'))::int AS "unlistedRoutes",
                (count(*) FILTER (WHERE visibility = 'public'))::int AS "publicRoutes",
                (count(*) FILTER (WHERE created_at > ${month}))::int AS "newRoutes"
                FROM routes WHERE deleted_at IS NULL) r,
              (SELECT count(*)::int AS collections FROM collections WHERE deleted_at IS NULL) c`
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
          const row = yield* count({
            now: new Date(now),
            day: before(Duration.days(1)),
            month: before(Duration.days(30))
          })
          return toOverview(row)
        }).pipe(Effect.orDie, Effect.withSpan("Administration.overview")),

        users: traced("Administration.users")(function*(admin, query, page) {
          const where = has(query, "u.email", "u.name", "u.handle")
          const { items, ...found } = yield* selectPage(sql, {
            columns: userColumns,
            tables: users,
            counted: sql`users u`,
            where,
            order: newest("u.id"),
            decode: decodeUsers
          }, page)
          yield* audit.recordRead("admin.users_listed", { userId: admin })
          return { ...found, items: items.map((row) => toAdminUser(row, roles)) }
        }, Effect.orDie),

        user: traced("Administration.user")(function*(admin, id) {
          const rows = yield* Effect.flatMap(sql`SELECT ${userColumns} FROM ${users} WHERE u.id = ${id}`, decodeUsers)
          const row = yield* Option.match(Option.fromNullishOr(rows[0]), {
            onNone: () => Effect.fail(new Missing({ kind: "user" })),
            onSome: Effect.succeed
          })
          yield* audit.recordRead("admin.user_viewed", { userId: admin, subjectId: id })
          return toAdminUser(row, roles)
        }, databaseDefects),

        deleteUser: traced("Administration.deleteUser")(
          function*(admin, id) {
            if (admin === id) return yield* new OwnAccount()
            yield* deletion.request(id, admin)
            yield* audit.record("admin.user_deleted", { userId: admin, subjectId: id })
          },
          sql.withTransaction,
          databaseDefects
        ),

        routes: traced("Administration.routes")(function*(admin, query, page) {
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

        deleteRoute: traced("Administration.deleteRoute")(function*(admin, id) {
          const owner = yield* findOwner(id)
          if (Option.isNone(owner)) return yield* new Missing({ kind: "route" })
          const { userId } = owner.value
          yield* writers.run(userId, deleteRoute(admin, id, userId))
        }, databaseDefects),

        deletions: traced("Administration.deletions")(function*(admin, page) {
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
