import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { TimestampColumn, UserIdColumn } from "../schema/Columns.ts"
import { UserId } from "../schema/Ids.ts"
import { Preferences } from "../schema/Preferences.ts"
import { type Profile, Statistics, type User } from "../schema/User.ts"
import { Pseudonyms } from "./Pseudonyms.ts"
import { Roles } from "./Roles.ts"

/** What users see of themselves. */
export class Profiles extends Context.Service<Profiles, {
  /** A user whose id comes from a session, so one that is there. */
  readonly user: (id: UserId) => Effect.Effect<User>
  /** The same with the statistics of the user's live routes. */
  readonly profile: (id: UserId) => Effect.Effect<Profile>
}>()("route-planning-service/Profiles") {
  static readonly layer = Layer.effect(
    Profiles,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
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
            SELECT count(*)::int AS "totalRoutes", coalesce(sum(distance), 0) AS "totalDistance"
            FROM routes WHERE user_id = ${id} AND deleted_at IS NULL`
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
        deletionStatus: row.deletion_requested_at === null ? "active" : "pending_hard_delete",
        deletionRequestedAt: row.deletion_requested_at,
        hasPassword: row.has_password
      })

      return Profiles.of({
        user: Effect.fn("Profiles.user")((id) => Effect.map(findUser(id), toUser).pipe(Effect.orDie)),
        profile: Effect.fn("Profiles.profile")(function*(id) {
          const [row, statistics] = yield* Effect.all([findUser(id), findStatistics(id)], { concurrency: 2 })
          return { ...toUser(row), statistics }
        }, Effect.orDie)
      })
    })
  )
}

const UserRow = Schema.Struct({
  id: UserIdColumn,
  email: Schema.String,
  name: Schema.String,
  handle: Schema.String,
  avatar: Schema.NullOr(Schema.String),
  is_email_verified: Schema.Boolean,
  preferences: Schema.NullOr(Preferences),
  deletion_requested_at: Schema.NullOr(TimestampColumn),
  has_password: Schema.Boolean
})
