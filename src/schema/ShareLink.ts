import { Schema } from "effect"
import { LinkId, ShareToken } from "./Ids.ts"
import { trimmedText } from "./Text.ts"
import { Instant, Timestamp } from "./Timestamp.ts"

/** For each route or collection; expired links do not count. */
export const MAX_LINKS = 50

const changeable = {
  label: Schema.optionalKey(Schema.NullOr(trimmedText(0, 100))),
  expiresAt: Schema.optionalKey(
    Schema.NullOr(Instant.annotate({ description: "In the future (RFC 3339); `null` is never" }))
  )
}

const isDownloadAllowed = Schema.Boolean.annotate({
  description: "Whether the token opens files (GPX and others) too; the line in JSON comes either way"
})

export const NewShareLink = Schema.Struct({
  ...changeable,
  allowDownload: Schema.optionalKey(Schema.NullOr(isDownloadAllowed))
}).annotate({ identifier: "ShareLinkInput" })
export type NewShareLink = typeof NewShareLink.Type

export const ShareLinkPatch = Schema.Struct({
  ...changeable,
  allowDownload: Schema.optionalKey(isDownloadAllowed)
}).annotate({ identifier: "ShareLinkPatch" })
export type ShareLinkPatch = typeof ShareLinkPatch.Type

export const ShareLink = Schema.Struct({
  id: LinkId,
  label: Schema.NullOr(Schema.String),
  token: ShareToken,
  allowDownload: isDownloadAllowed,
  expiresAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp,
  lastUsedAt: Schema.NullOr(Timestamp).annotate({ description: "When others last used it, up to a minute late" }),
  uses: Schema.Int.annotate({
    description: "How many requests of others it opened, without pictures; up to a minute late"
  })
}).annotate({ identifier: "ShareLink" })
export type ShareLink = typeof ShareLink.Type

export const AllowDownload = Schema.optionalKey(
  Schema.Boolean.annotate({
    description: "`false` where it was opened by a link that does not open files; else absent"
  })
)
