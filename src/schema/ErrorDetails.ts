import { Schema, Struct } from "effect"
import { Duplicate, ImportTrack, MAX_TRACKS } from "./Import.ts"
import { MAX_ISSUES } from "./Issues.ts"
import { named } from "./Named.ts"
import { QUOTAS } from "./User.ts"

/** Errors of 401, 403, 409, 410 and 429 always have one of these as `details.reason`, other errors may have one. */
export const REASON_WORDS = {
  400: {
    too_far: "The locations or points are too far apart, or the trace is too long",
    too_many_points: "The trace has more points than the routing engine takes",
    too_many_locations: "There are more locations than the routing engine takes"
  },
  401: {
    not_signed_in: "The request has no credential: sign in, or send a token",
    authorization_malformed: "`Authorization` is not `Bearer` and a token",
    session_invalid: "The session is expired or revoked, or is none: sign in again",
    token_malformed: "The personal access token has a typo: its checksum does not fit",
    token_unknown: "There is no such personal access token",
    token_revoked: "The personal access token was revoked",
    token_expired: "The personal access token has expired",
    account_pending_deletion: "The token works again after the account's deletion is cancelled",
    wrong_credentials: "The email address or the password is wrong",
    sign_in_refused: "The identity provider's answer was not accepted",
    provider_declined: "The identity provider did not sign the person in",
    sign_in_not_begun: "The sign-in was not begun in this browser, or too long ago"
  },
  403: {
    account_pending_deletion: "The account is to be deleted: cancel that first",
    insufficient_scope: "The personal access token has the scope `read`, and the call needs `write`",
    session_required: "The call is for sessions, and no personal access token may make it",
    administrator_required: "The call is for administrators",
    cross_site: "A page of another site sent the request with a cookie",
    email_unverified: "The email address is not verified: open the link that was mailed",
    provider_email_unverified: "The identity provider has not verified the email address",
    current_password_wrong: "The current password is wrong",
    password_wrong: "The password is not that of the sign-up of the mailed link",
    signup_disabled: "Only those who are invited may sign up",
    provider_sign_in_disabled: "Sign-in by an identity provider is switched off",
    download_not_allowed: "The link opens no files"
  },
  404: {
    no_path: "There is no path between the locations, or the trace follows no roads",
    no_road_near_location: "There is no road near a location"
  },
  409: {
    stale: "It was changed since the version that `If-Match` names: `details.current` is what it is now",
    quota_exceeded: "The account has as much as it may have: see `details.quota`",
    duplicate_route: "An own route has the same positions",
    collection_full: "The collection has as many routes as it may have",
    too_many_zones: "The account has as many privacy zones as it may have",
    too_many_tokens: "The account has as many personal access tokens as it may have",
    too_many_links: "The route or collection has as many links as it may have",
    key_in_use: "The first request with this `Idempotency-Key` has not ended",
    key_reused: "The `Idempotency-Key` was used for another request",
    client_id_used: "What this `clientId` made has been deleted",
    source_used: "Another route of the account has this `source`, which may be in the trash",
    handle_taken: "The handle is taken",
    address_taken: "The address has an account",
    nothing_to_cancel: "No deletion is pending, or its grace period is over",
    another_account: "A page's form was made for another account than the one that is signed in",
    own_account: "Administrators delete their own account as others do",
    import_running: "Another archive is being imported into the account",
    linked_elsewhere: "The account has another identity of the same provider",
    password_needed: "The link needs the password of its sign-up"
  },
  410: {
    cursor_expired: "The cursor no longer leads on: start again without one"
  },
  429: {
    rate_limited: "There were too many requests in the window",
    too_many_at_once: "Too many transfers of this address or network run at once",
    too_many_waiting: "Too many requests of the account wait for a change"
  }
} as const

type Words = typeof REASON_WORDS

export type ReasonOf<Status extends keyof Words> = keyof Words[Status] & string

const Impact = Schema.Struct({
  action: Schema.String.annotate({ description: "Such as `route.delete`" }),
  resource: Schema.String.annotate({
    description: "Kind of the resource: `route`, `collection`, `link` or `privacy_zones`"
  }),
  id: Schema.optionalKey(Schema.Int.annotate({ description: "Id of the resource, if it exists" })),
  summary: Schema.String.annotate({ description: "Text for people" })
}).annotate(named("Impact", "What a request would do if it were confirmed.", {
  action: "route.delete",
  resource: "route",
  id: 12,
  summary: "\"Around Vaduz\" will be deleted."
}))
export type Impact = typeof Impact.Type

const DocumentedIssue = Schema.Struct({
  path: Schema.String.annotate({ description: "Dotted path, which begins with `body`, `query`, `header` or `path`" }),
  message: Schema.String.annotate({ description: "What is accepted" })
}).annotate(
  named("ValidationIssue", "What is wrong with a request.", { path: "body.name", message: "Required, but missing" })
)

const member = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema.annotate({ description }))

const ResourceFacts = Schema.Record(Schema.String, Schema.Json)
export type ResourceFacts = typeof ResourceFacts.Type

const reasons = <R extends string>(words: Readonly<Record<R, string>>) => Schema.Literals(Struct.keys(words))

const MEMBERS = {
  issues: member(Schema.Array(DocumentedIssue), `What is wrong with the request; at most ${MAX_ISSUES} issues`),
  impact: Schema.optionalKey(Impact),
  impacts: member(Schema.Array(Impact), "What the operations of a batch would do if they were confirmed"),
  operation: member(Schema.Int, "Index of the operation because of which an atomic batch changed nothing"),
  locations: member(Schema.Array(Schema.Int), "Indexes of the locations concerned"),
  routeId: member(Schema.Int, "The own route that has the same positions"),
  duplicates: member(Schema.Array(Duplicate), "Which routes of a file have the same positions as which own routes"),
  routeIds: member(Schema.Array(Schema.Int), "Routes that were not found"),
  traceId: member(Schema.String, "Trace id of the request for an operator (W3C Trace Context)"),
  limitBytes: member(Schema.Int, "The limit in bytes"),
  limit: member(Schema.Int, "The limit of requests in a window, or of the quota"),
  windowSeconds: member(Schema.Int, "The window of the limit in seconds"),
  retryAfterSeconds: member(Schema.Int, "Seconds until a retry"),
  quota: member(Schema.Literals(QUOTAS), "The full quota of the account"),
  used: member(Schema.Int, "How much of the quota is used"),
  version: member(Schema.Int, "The current version"),
  etag: member(Schema.String, "The current `ETag`"),
  current: member(ResourceFacts, "The route, without its line and cues, or the collection as it is now"),
  tracks: member(Schema.Array(ImportTrack), `The tracks of the file to choose from; the first ${MAX_TRACKS}`),
  allowed: member(Schema.Array(Schema.String), "The methods of the path")
}

const detailsWith = <R extends Schema.Top>(reason: R) =>
  Schema.StructWithRest(Schema.Struct({ ...MEMBERS, reason }), [Schema.Record(Schema.String, Schema.Json)])

export const ReasonedDetails = {
  401: detailsWith(reasons(REASON_WORDS[401])),
  403: detailsWith(reasons(REASON_WORDS[403])),
  409: detailsWith(reasons(REASON_WORDS[409])),
  410: detailsWith(reasons(REASON_WORDS[410])),
  429: detailsWith(reasons(REASON_WORDS[429]))
}

const anyReason = reasons({
  ...REASON_WORDS[400],
  ...REASON_WORDS[401],
  ...REASON_WORDS[403],
  ...REASON_WORDS[404],
  ...REASON_WORDS[409],
  ...REASON_WORDS[410],
  ...REASON_WORDS[429]
})

export const ErrorDetails = detailsWith(
  member(anyReason, "The cause: each error of the statuses 401, 403, 409, 410 and 429 has one")
).annotate(
  named("ErrorDetails", "Facts about an error, for a program.", { traceId: "4bf92f3577b34da6a3ce929d0e0e4736" })
)
