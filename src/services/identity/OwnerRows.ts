import { Schema } from "effect"
import type { UserSummary } from "../../schema/User.ts"
import type { Pseudonyms } from "./Pseudonyms.ts"
import { UserRecord } from "./UserRecord.ts"

const { avatar, id, name } = UserRecord.select.fields

export const OwnerFields = {
  userId: id,
  userName: name,
  userHandle: Schema.String,
  userAvatar: avatar
}
const OwnerRow = Schema.Struct(OwnerFields)

export const ownerColumns = `u.id AS "userId", u.name AS "userName", u.handle AS "userHandle", u.avatar AS "userAvatar"`

export const toUserSummary = (row: typeof OwnerRow.Type, pseudonyms: Pseudonyms["Service"]): UserSummary => ({
  id: row.userId,
  name: row.userName,
  handle: row.userHandle,
  ...(row.userAvatar === null ? {} : { avatar: row.userAvatar }),
  idHash: pseudonyms.idHash(row.userId)
})
