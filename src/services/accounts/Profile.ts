import { Context, DateTime, Effect, Layer, Option, Predicate, Schema, Struct } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { UserId } from "../../schema/Ids.ts"
import type { Preferences, PreferencesPatch } from "../../schema/Preferences.ts"
import {
  deletionStatusOf,
  type Handle,
  isReservedHandle,
  type Profile,
  type ProfilePatch,
  type PublicProfile,
  Statistics,
  Usage,
  type User
} from "../../schema/User.ts"
import { Lanes } from "../admission/Lanes.ts"
import { selectUsage } from "../admission/Quotas.ts"
import { databaseDefects } from "../db/DatabaseErrors.ts"
import { gatheredRead } from "../db/GatheredReads.ts"
import { replicaReads } from "../db/ReadReplicas.ts"
import { columnsOf } from "../db/Tables.ts"
import { HandleTaken, InvalidInput, Missing, type Overloaded } from "../DomainErrors.ts"
import { Pseudonyms } from "../identity/Names.ts"
import { HAS_PASSWORD, isActive, Roles, UserRecord, users } from "../identity/Users.ts"
import { routeVisibility } from "../sharing/Visibility.ts"

type Members = Readonly<Record<string, unknown>>

/** Merges as RFC 7396: `null` removes a member, objects are merged, everything else replaces. */
const merge = (stored: Members, patch: Members): Members =>
  Object.entries(patch).reduce<Members>((merged, [key, value]) => {
    const { [key]: previous, ...others } = merged
    if (value === null) return others
    return {
      ...others,
      [key]: Predicate.isReadonlyObject(value)
        ? merge(Predicate.isReadonlyObject(previous) ? previous : {}, value)
        : value
    }
  }, stored)

export const mergePreferences = (stored: Preferences, patch: PreferencesPatch): Preferences => merge(stored, patch)

export class Profiles extends Context.Service<Profiles, {
  /** Dies if there is no such user: the id comes from a session. */
  readonly user: (id: UserId) => Effect.Effect<User>
  /** Includes statistics of the user's live routes, and the usage of quotas. */
  readonly profile: (id: UserId) => Effect.Effect<Profile>
  /** Fails with `InvalidInput` for a reserved handle. Frees the old handle at once. Takes a turn (`Lanes.writes`). */
  readonly update: (id: UserId, patch: ProfilePatch) => Effect.Effect<Profile, HandleTaken | InvalidInput | Overloaded>
  /** Finds a profile by its current handle. Fails with `Missing` while the account's deletion is pending. */
  readonly publicProfile: (handle: Handle) => Effect.Effect<PublicProfile, Missing>
}>()("route-planning-service/Profiles") {
  static readonly layer = Layer.effect(
    Profiles,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const pseudonyms = yield* Pseudonyms
      const visibility = routeVisibility(sql)
      const roles = yield* Roles
      const { writes } = yield* Lanes
      const { whileAway } = yield* replicaReads

      const columns = sql.literal(`${columnsOf(UserColumns)}, ${HAS_PASSWORD}`)

      const findUser = SqlSchema.findOne({
        Request: UserId,
        Result: UserRow,
        execute: (id) => sql`SELECT ${columns} FROM users WHERE id = ${id}`
      })

      const owner = sql.literal("k.id")
      const findProfile = gatheredRead(sql, {
        key: { id: "bigint" },
        Result: Schema.Struct({ ...UserRow.fields, ...Statistics.fields, usage: Usage }),
        select: sql`
          SELECT ${columns}, "totalRoutes", "totalDistance", usage
          FROM users CROSS JOIN (${selectUsage(sql, owner)}) q WHERE id = ${owner}`
      })

      const toUser = (row: typeof UserRow.Type): User => ({
        id: row.id,
        email: row.email,
        name: row.name,
        handle: row.handle,
        ...(row.avatar === null ? {} : { avatar: row.avatar }),
        isEmailVerified: true,
        role: roles.of(row),
        preferences: row.preferences,
        idHash: pseudonyms.idHash(row.id),
        deletionStatus: deletionStatusOf(row.deletionRequestedAt),
        deletionRequestedAt: row.deletionRequestedAt,
        hasPassword: row.hasPassword
      })

      const findPublic = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: PublicRow,
        execute: (handle) =>
          sql`
            SELECT ${sql.literal(columnsOf(PublicColumns))}, (
              SELECT count(*)::int FROM routes r WHERE r.user_id = u.id AND ${visibility.public}
            ) AS "publicRoutes"
            FROM users u WHERE handle = ${handle} AND ${isActive(sql)}`
      })

      const lockPreferences = SqlSchema.findOne({
        Request: UserId,
        Result: UserRecord.select.mapFields(Struct.pick(["preferences"])),
        execute: (id) => sql`SELECT preferences FROM users WHERE id = ${id} FOR NO KEY UPDATE`
      })

      const applyPatch = Effect.fnUntraced(function*(id: UserId, { avatar, handle, name, preferences }: ProfilePatch) {
        const now = yield* DateTime.nowAsDate
        const stored = yield* lockPreferences(id)
        const merged = preferences && mergePreferences(stored.preferences ?? {}, preferences)
        const isStillNone = stored.preferences === null && merged && Object.keys(merged).length === 0
        const changes = { name, handle, avatar, preferences: isStillNone ? null : merged && JSON.stringify(merged) }
        yield* sql`
          UPDATE users SET ${users.set(sql, { ...changes, updatedAt: now })} WHERE id = ${id} AND ${
          users.differs(changes)
        }`
      })

      const profile = Effect.fnUntraced(function*(id: UserId) {
        const { totalDistance, totalRoutes, usage, ...row } = yield* Effect.flatMap(
          findProfile({ id }),
          Effect.fromOption
        )
        return { ...toUser(row), statistics: { totalRoutes, totalDistance }, usage }
      }, Effect.orDie)

      return Profiles.of({
        user: (id) => Effect.map(findUser(id), toUser).pipe(Effect.orDie),
        profile,
        update: Effect.fnUntraced(
          function*(id, patch) {
            if (patch.handle !== undefined && isReservedHandle(patch.handle)) {
              return yield* InvalidInput.at("handle", "Expected a handle that is not reserved")
            }
            return yield* Effect.andThen(applyPatch(id, patch), profile(id)).pipe(
              sql.withTransaction,
              Effect.catchReason(
                "SqlError",
                "UniqueViolation",
                (reason, error): Effect.Effect<never, HandleTaken | SqlError.SqlError> =>
                  reason.constraint === "users_handle_key"
                    ? Effect.fail(new HandleTaken())
                    : Effect.fail(error)
              )
            )
          },
          (change, id) => writes(id, change),
          databaseDefects
        ),
        publicProfile: Effect.fnUntraced(function*(handle) {
          const found = Effect.flatMap(
            findPublic(handle),
            Option.match({ onNone: () => Effect.fail(new Missing({ kind: "user" })), onSome: Effect.succeed })
          )
          const { avatar, createdAt, id, name, publicRoutes } = yield* whileAway(found)
          return {
            id,
            name,
            handle,
            ...(avatar === null ? {} : { avatar }),
            idHash: pseudonyms.idHash(id),
            createdAt,
            publicRoutes
          }
        }, databaseDefects)
      })
    })
  )
}

const PublicColumns = UserRecord.select.mapFields(Struct.pick(["id", "name", "avatar", "createdAt"]))

const PublicRow = Schema.Struct({ ...PublicColumns.fields, publicRoutes: Schema.Int })

const UserColumns = UserRecord.select.mapFields(
  Struct.pick(["id", "email", "name", "handle", "avatar", "preferences", "deletionRequestedAt"])
)

const UserRow = Schema.Struct({
  ...UserColumns.fields,
  hasPassword: Schema.Boolean
})
