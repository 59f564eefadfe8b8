import { GRACE_PERIOD, inWords } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** Members of what is in the trash. */
export const TRASHED = {
  deletedAt: Timestamp.annotate({ description: "When it was moved to the trash" }),
  purgedAt: Timestamp.annotate({
    description: `From when on it is erased: ${inWords(GRACE_PERIOD)} after \`deletedAt\``
  })
}

export interface Trashed {
  readonly deletedAt: string
  readonly purgedAt: string
}
