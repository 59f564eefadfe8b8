import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { PreferencesColumn, TimestampColumn, UserIdColumn } from "../../schema/Columns.ts"
import { HandleTaken, Missing } from "../../schema/DomainErrors.ts"
import { ValidationFailed } from "../../schema/Errors.ts"
import { UserId } from "../../schema/Ids.ts"
import {
  deletionStatusOf,
  type Handle,
  isReservedHandle,
  type Profile,
  type ProfilePatch,
  type PublicProfile,
  Statistics,
  type User
} from "../../schema/User.ts"
import { Pseudonyms } from "../identity/Pseudonyms.ts"
import { Roles } from "../identity/Roles.ts"
import { Quotas } from "../limits/Quotas.ts"
import { TOTAL_DISTANCE } from "../routes/RouteRows.ts"
import { databaseDefects } from "../sql/DatabaseDefects.ts"
import { routeVisibility } from "../visibility/Visibility.ts"
import { mergePreferences } from "./PreferenceMerge.ts"

/** Users' own profiles, and their public ones. */
export class Profiles extends Context.Service<Profiles, {
  /** Dies without such a user: the id comes from a session. */
  readonly user: (id: UserId) => Effect.Effect<User>
  /** With statistics of the user's live routes, and the usage of quotas. */
  readonly profile: (id: UserId) => Effect.Effect<Profile>
  /** `HandleTaken`, and `ValidationFailed` for a reserved one. The old handle is free at once. */
  readonly update: (id: UserId, patch: ProfilePatch) => Effect.Effect<Profile, HandleTaken | ValidationFailed>
  /** By current handle. `Missing` while the account's deletion is pending. */
  readonly publicProfile: (handle: Handle) => Effect.Effect<PublicProfile, Missing>
}>()("route-planning-service/Profiles") {
  static readonly layer = Layer.effect(
    Profiles,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const quotas = yield* Quotas
      const visibility = routeVisibility(sql)
      const roles = yield* Roles

      const findUser = SqlSchema.findOne({
        Request: UserId,
        Result: UserRow,
        execute: (id) =>
          sql`
            SELECT id, email, name, handle, avatar, email_verified_at IS NOT NULL AS is_email_verified, preferences,
              deletion_requested_at, password_hash IS NOT NULL AS has_password
            FROM users WHERE id = ${id}`
      })

      const findStatistics = SqlSchema.findOne({
        Request: UserId,
        Result: Statistics,
        execute: (id) =>
          sql`
            SELECT count(*)::int AS "totalRoutes", ${sql.literal(TOTAL_DISTANCE)} AS "totalDistance"
            FROM routes r WHERE ${visibility.own(id)}`
      })

      const toUser = (row: typeof UserRow.Type): User => ({
        id: row.id,
        email: row.email,
        name: row.name,
        handle: row.handle,
        ...(row.avatar === null ? {} : { avatar: row.avatar }),
        isEmailVerified: row.is_email_verified,
        role: roles.of({ email: row.email, isEmailVerified: row.is_email_verified }),
        preferences: row.preferences,
        idHash: pseudonyms.idHash(row.id),
        deletionStatus: deletionStatusOf(row.deletion_requested_at),
        deletionRequestedAt: row.deletion_requested_at,
        hasPassword: row.has_password
      })

      const findPublic = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: PublicRow,
        execute: (handle) =>
          sql`
            SELECT id, name, handle, avatar, created_at, (
              SELECT count(*)::int FROM routes r WHERE r.user_id = u.id AND ${visibility.public}
            ) AS public_routes
            FROM users u WHERE handle = ${handle} AND deletion_requested_at IS NULL AND email_verified_at IS NOT NULL`
      })

      const lockPreferences = SqlSchema.findOne({
        Request: UserId,
        Result: Schema.Struct({ preferences: PreferencesColumn }),
        execute: (id) => sql`SELECT preferences FROM users WHERE id = ${id} FOR UPDATE`
      })

      const applyPatch = Effect.fnUntraced(function*(id: UserId, { avatar, handle, name, preferences }: ProfilePatch) {
        const now = yield* DateTime.nowAsDate
        const stored = yield* lockPreferences(id)
        const merged = preferences === null ? null : mergePreferences(stored.preferences ?? {}, preferences ?? {})
        yield* sql`UPDATE users SET ${
          sql.update({
            updated_at: now,
            ...(name === undefined ? {} : { name }),
            ...(handle === undefined ? {} : { handle }),
            ...(avatar === undefined ? {} : { avatar }),
            ...(preferences === undefined ? {} : { preferences: merged === null ? null : JSON.stringify(merged) })
          })
        } WHERE id = ${id}`
      }, sql.withTransaction)

      const profile = Effect.fn("Profiles.profile")(function*(id: UserId) {
        const [row, statistics, usage] = yield* Effect.all(
          [findUser(id), findStatistics(id), quotas.usage(id)],
          { concurrency: "unbounded" }
        )
        return { ...toUser(row), statistics, usage }
      }, Effect.orDie)

      return Profiles.of({
        user: Effect.fn("Profiles.user")((id) => Effect.map(findUser(id), toUser).pipe(Effect.orDie)),
        profile,
        update: Effect.fn("Profiles.update")(function*(id, patch) {
          if (patch.handle !== undefined && isReservedHandle(patch.handle)) {
            return yield* ValidationFailed.at("handle", "Expected a handle that is not reserved")
          }
          yield* applyPatch(id, patch).pipe(
            Effect.catchReason(
              "SqlError",
              "UniqueViolation",
              (reason, error): Effect.Effect<never, HandleTaken | SqlError.SqlError> =>
                reason.constraint === "users_handle_key"
                  ? Effect.fail(new HandleTaken())
                  : Effect.fail(error)
            )
          )
          return yield* profile(id)
        }, databaseDefects),
        publicProfile: Effect.fn("Profiles.publicProfile")(function*(handle) {
          const row = yield* findPublic(handle)
          if (Option.isNone(row)) return yield* new Missing({ kind: "user" })
          const { avatar, created_at, id, name, public_routes } = row.value
          return {
            id,
            name,
            handle,
            ...(avatar === null ? {} : { avatar }),
            idHash: pseudonyms.idHash(id),
            createdAt: created_at,
            publicRoutes: public_routes
          }
        }, databaseDefects)
      })
    })
  )
}

const PublicRow = Schema.Struct({
  id: UserIdColumn,
  name: Schema.String,
  avatar: Schema.NullOr(Schema.String),
  created_at: TimestampColumn,
  public_routes: Schema.Int
})

const UserRow = Schema.Struct({
  id: UserIdColumn,
  email: Schema.String,
  name: Schema.String,
  handle: Schema.String,
  avatar: Schema.NullOr(Schema.String),
  is_email_verified: Schema.Boolean,
  preferences: PreferencesColumn,
  deletion_requested_at: Schema.NullOr(TimestampColumn),
  has_password: Schema.Boolean
})
