import { GRACE_PERIOD, inWords } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** Members of what is in the trash. */
export const TRASHED = {
  deletedAt: Timestamp.annotate({ description: "When it was moved to the trash" }),
  purgedAt: Timestamp.annotate({
    description: `From when on it is erased: ${inWords(GRACE_PERIOD)} after \`deletedAt\``
  })
}

/** The same in examples. */
export const TRASHED_AT = { deletedAt: "2025-06-02T10:00:00.000Z", purgedAt: "2025-07-02T10:00:00.000Z" }

export interface Trashed {
  readonly deletedAt: string
  readonly purgedAt: string
}
