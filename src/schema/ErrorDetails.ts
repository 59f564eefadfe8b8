import { Schema } from "effect"
import { ImportTrack } from "./ImportTrack.ts"
import { QUOTAS } from "./Usage.ts"

/** What a destructive call would do. */
const Impact = Schema.Struct({
  action: Schema.String.annotate({ description: "Such as `route.delete`" }),
  resource: Schema.String.annotate({ description: "Of which kind it is: `route` or `collection`" }),
  id: Schema.optionalKey(Schema.Int.annotate({ description: "Which one, where it exists" })),
  summary: Schema.String.annotate({ description: "For people" })
})
export type Impact = typeof Impact.Type

const member = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema.annotate({ description }))

/** What a program can act on. Which of them an error has depends on its cause. */
export const ErrorDetails = Schema.StructWithRest(
  Schema.Struct({
    issues: member(
      Schema.Array(Schema.Struct({
        path: Schema.String.annotate({ description: "Where, as a dotted path; empty for the whole request" }),
        message: Schema.String.annotate({ description: "What is accepted there" })
      })),
      "Why the request is refused; at most 100 reasons"
    ),
    impact: member(Impact, "What the request would do if it were confirmed"),
    reason: member(
      Schema.String,
      "Why, in one word: `too_far`, `too_many_points`, `no_path`, `no_road_near_location`, `signup_disabled` or "
        + "`provider_sign_in_disabled`"
    ),
    locations: member(Schema.Array(Schema.Int), "The indexes of the locations that are meant"),
    routeIds: member(Schema.Array(Schema.Int), "The routes that are not found"),
    traceId: member(Schema.String, "By which an operator finds the rest (W3C Trace Context)"),
    limitBytes: member(Schema.Int, "The limit in bytes"),
    limit: member(Schema.Int, "The limit: of requests in a window, or of the quota"),
    windowSeconds: member(Schema.Int, "The window of that limit in seconds"),
    retryAfterSeconds: member(Schema.Int, "When to try again, in seconds"),
    quota: member(Schema.Literals(QUOTAS), "The quota of the account that is full"),
    used: member(Schema.Int, "How much of the quota is used"),
    version: member(Schema.Int, "The current version"),
    etag: member(Schema.String, "The current `ETag`"),
    tracks: member(Schema.Array(ImportTrack), "The tracks of the file of which one has to be chosen; the first 100"),
    allowed: member(Schema.Array(Schema.String), "The methods that the path has")
  }),
  [Schema.Record(Schema.String, Schema.Json)]
)
