import { Schema } from "effect"
import { UserIdColumn } from "../../schema/Columns.ts"
import type { UserSummary } from "../../schema/User.ts"
import type { Pseudonyms } from "./Pseudonyms.ts"

export const OwnerFields = {
  user_id: UserIdColumn,
  user_name: Schema.String,
  user_handle: Schema.String,
  user_avatar: Schema.NullOr(Schema.String)
}
const OwnerRow = Schema.Struct(OwnerFields)

export const ownerColumns = "u.id AS user_id, u.name AS user_name, u.handle AS user_handle, u.avatar AS user_avatar"

export const toUserSummary = (row: typeof OwnerRow.Type, pseudonyms: Pseudonyms["Service"]): UserSummary => ({
  id: row.user_id,
  name: row.user_name,
  handle: row.user_handle,
  ...(row.user_avatar === null ? {} : { avatar: row.user_avatar }),
  idHash: pseudonyms.idHash(row.user_id)
})
