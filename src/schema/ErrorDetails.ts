import { Schema } from "effect"
import { Duplicate, ImportTrack, MAX_TRACKS } from "./Import.ts"
import { MAX_ISSUES } from "./Issues.ts"
import { QUOTAS } from "./User.ts"

/** `details.reason` of an error, where its class and status leave the cause open. */
export const REASONS = {
  tooFar: "too_far",
  tooManyPoints: "too_many_points",
  tooManyLocations: "too_many_locations",
  noPath: "no_path",
  noRoad: "no_road_near_location",
  signUpDisabled: "signup_disabled",
  providerDisabled: "provider_sign_in_disabled",
  duplicateRoute: "duplicate_route",
  tokenMalformed: "token_malformed",
  tokenUnknown: "token_unknown",
  tokenRevoked: "token_revoked",
  tokenExpired: "token_expired",
  accountPendingDeletion: "account_pending_deletion",
  cursorExpired: "cursor_expired",
  downloadNotAllowed: "download_not_allowed",
  passwordNeeded: "password_needed",
  passwordWrong: "password_wrong"
} as const

const Impact = Schema.Struct({
  action: Schema.String.annotate({ description: "Such as `route.delete`" }),
  resource: Schema.String.annotate({ description: "Kind of the resource: `route`, `collection` or `privacy_zones`" }),
  id: Schema.optionalKey(Schema.Int.annotate({ description: "Id of the resource, if it exists" })),
  summary: Schema.String.annotate({ description: "Text for people" })
})
export type Impact = typeof Impact.Type

const member = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema.annotate({ description }))

const LISTED_REASONS = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(
  Object.values(REASONS).map((reason) => `\`${reason}\``)
)

export const ErrorDetails = Schema.StructWithRest(
  Schema.Struct({
    issues: member(
      Schema.Array(Schema.Struct({
        path: Schema.String.annotate({ description: "Dotted path; empty for the whole request" }),
        message: Schema.String.annotate({ description: "What is accepted" })
      })),
      `What is wrong with the request; at most ${MAX_ISSUES} issues`
    ),
    impact: member(Impact, "What the request would do if it were confirmed"),
    impacts: member(Schema.Array(Impact), "What the operations of a batch would do if they were confirmed"),
    operation: member(Schema.Int, "Index of the operation because of which an atomic batch changed nothing"),
    reason: member(Schema.String, `Cause: ${LISTED_REASONS}`),
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
    tracks: member(Schema.Array(ImportTrack), `The tracks of the file to choose from; the first ${MAX_TRACKS}`),
    allowed: member(Schema.Array(Schema.String), "The methods of the path")
  }),
  [Schema.Record(Schema.String, Schema.Json)]
).annotate({ description: "Facts for a program" })
