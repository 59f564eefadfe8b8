import { Schema } from "effect"
import { GRACE_PERIOD, inWords } from "./Limits.ts"
import { Timestamp } from "./Measures.ts"

/** `unlisted` is for anyone who has the share token. */
export const Visibility = Schema.Literals(["private", "unlisted", "public"]).annotate({
  description: "Who may open it beside its owner"
})
export type Visibility = typeof Visibility.Type

export const PageUrl = Schema.optionalKey(
  Schema.String.annotate({
    description:
      "The page for people, of a single response; absent while only the owner may see it, and where pages are off",
    format: "uri"
  })
)

export const TRASHED = {
  deletedAt: Timestamp.annotate({ description: "When it was moved to the trash" }),
  purgedAt: Timestamp.annotate({
    description: `From when on it is erased: ${inWords(GRACE_PERIOD)} after \`deletedAt\``
  })
}

export const TRASHED_AT = { deletedAt: "2025-06-02T10:00:00.000Z", purgedAt: "2025-07-02T10:00:00.000Z" }

export interface Trashed {
  readonly deletedAt: string
  readonly purgedAt: string
}
