import { Schema } from "effect"
import { ClientId, LinkId, ShareToken } from "./Ids.ts"
import { CreatedAt, Instant, Timestamp } from "./Measures.ts"
import { named } from "./Named.ts"
import { trimmedText } from "./Text.ts"

/** Each route or collection has at most this many links; expired ones do not count. */
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
  allowDownload: Schema.optionalKey(Schema.NullOr(isDownloadAllowed)),
  clientId: Schema.optionalKey(Schema.NullOr(ClientId))
}).annotate(named("ShareLinkInput", "A link to be made.", { label: "Sunday ride", allowDownload: false }))
export type NewShareLink = typeof NewShareLink.Type

export const ShareLinkPatch = Schema.Struct({
  ...changeable,
  allowDownload: Schema.optionalKey(isDownloadAllowed)
}).annotate(named("ShareLinkPatch", "What to change of a link: an absent member stays as it is, `null` clears it.", {
  expiresAt: null,
  allowDownload: false
}))
export type ShareLinkPatch = typeof ShareLinkPatch.Type

export const LINK = {
  id: LinkId.make(9),
  label: "Sunday ride",
  token: ShareToken.make("c2f0b3967d5f2d8c1e9b7a4036a1c4e8"),
  allowDownload: true,
  expiresAt: "2025-07-01T08:30:00.000Z",
  createdAt: "2025-06-01T08:30:00.000Z",
  lastUsedAt: null,
  uses: 0
}

export const ShareLink = Schema.Struct({
  id: LinkId,
  label: Schema.NullOr(Schema.String).annotate({ description: "A name for the link, for its owner only" }),
  token: ShareToken.annotate({ description: "The token itself" }),
  allowDownload: isDownloadAllowed,
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "When it expires; `null` is never" }),
  createdAt: CreatedAt,
  lastUsedAt: Schema.NullOr(Timestamp).annotate({ description: "When others last used it, up to a minute late" }),
  uses: Schema.Int.annotate({
    description: "How many requests of others it opened, without pictures; up to a minute late"
  })
}).annotate(named("ShareLink", "A link to a route or a collection.", LINK))
export type ShareLink = typeof ShareLink.Type

export const AllowDownload = Schema.optionalKey(
  Schema.Boolean.annotate({
    description: "`false` where it was opened by a link that does not open files; else absent"
  })
)
