import { Schema } from "effect"
import { Model } from "effect/schema"
import { UserId } from "../../schema/Ids.ts"
import { Handle } from "../../schema/User.ts"
import { PreferencesColumn, TimestampColumn } from "../sql/Columns.ts"
import { Instant, InstantOnce, readOnly, tableOf } from "../sql/Tables.ts"

export class UserRecord extends Model.Class<UserRecord>("UserRecord")({
  id: readOnly(UserId),
  email: Schema.String,
  emailKey: Schema.String,
  emailVerifiedAt: Model.Field({ insert: Schema.Date }),
  passwordHash: Schema.NullOr(Schema.String),
  name: Schema.String,
  handle: Handle,
  avatar: Schema.NullOr(Schema.String),
  /** Written as JSON. */
  preferences: Model.Field({ select: PreferencesColumn, update: Schema.NullOr(Schema.String) }),
  deletionRequestedAt: Model.Field({
    select: Schema.NullOr(TimestampColumn),
    update: Schema.NullOr(Schema.Date)
  }),
  devicesRevokedAt: Model.Field({ update: Schema.Date }),
  createdAt: InstantOnce,
  updatedAt: Instant
}) {}

export const users = tableOf("users", UserRecord)
