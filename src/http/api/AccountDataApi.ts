import { Duration } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ARCHIVE_BODY_LIMIT, ImportReport } from "../../schema/Archive.ts"
import {
  Conflict,
  PayloadTooLarge,
  RequestTimeout,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { OpenWhilePending, Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { BodyLimit, NoParameters, ResponseWithin } from "./Requests.ts"
import { texts } from "./texts/AccountDataTexts.ts"

const archive = HttpApiSchema.StreamUint8Array({ contentType: MEDIA_TYPES.zip })

export class AccountDataApi extends HttpApiGroup.make("accountData")
  .add(
    HttpApiEndpoint.get("export", "/export", { success: archive })
      .annotate(OpenWhilePending, true)
      .annotateMerge(texts.export),
    HttpApiEndpoint.post("import", "/import", {
      payload: archive,
      success: ImportReport.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, PayloadTooLarge, RequestTimeout, Unavailable, UnsupportedMediaType, ValidationFailed]
    })
      .annotate(BodyLimit, ARCHIVE_BODY_LIMIT)
      .annotate(ResponseWithin, Duration.minutes(2))
      .annotateMerge(texts.import)
  )
  .annotateEndpoints(Tier, "strict")
  .middleware(NoParameters)
  .middleware(SessionAuthentication)
  .prefix("/users/me")
  .annotateMerge(texts.group)
{}
