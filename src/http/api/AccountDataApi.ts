import { Duration } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ARCHIVE_BODY_LIMIT, ImportReport, MAX_ARCHIVE_FILES, MAX_UNPACKED } from "../../schema/Archive.ts"
import {
  Conflict,
  PayloadTooLarge,
  RequestTimeout,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { BODY_ALLOWANCE, grouped, inWords } from "../../schema/Limits.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { OpenWhilePending, Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { described, mebibytes, titled } from "./Described.ts"
import { BodyLimit, NoParameters, ResponseWithin } from "./Requests.ts"

const archive = HttpApiSchema.StreamUint8Array({ contentType: MEDIA_TYPES.zip })

export class AccountDataApi extends HttpApiGroup.make("accountData")
  .add(
    HttpApiEndpoint.get("export", "/export", { success: archive })
      .annotate(OpenWhilePending, true)
      .annotateMerge(described(
        "Export the account",
        "Everything in the account as a ZIP archive: `profile.json`, `routes.json` (one route a line), a GPX file for each "
          + "route, `collections.json`, `tokens.json` and `sessions.json` without secrets, and `manifest.json` with counts and "
          + "the SHA-256 of each file. Deleted routes and links are left out. It is made while it is read: an archive that is incomplete "
          + "has no directory and does not open."
      )),
    HttpApiEndpoint.post("import", "/import", {
      payload: archive,
      success: ImportReport.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, PayloadTooLarge, RequestTimeout, Unavailable, UnsupportedMediaType, ValidationFailed]
    })
      .annotate(BodyLimit, ARCHIVE_BODY_LIMIT)
      .annotate(ResponseWithin, Duration.minutes(2))
      .annotateMerge(described(
        "Import an archive",
        "Imports an archive of `GET /users/me/export`, of this account or another one: its routes, its collections, and the "
          + "preferences that are not set here. The archive is checked as a whole before anything is stored; `details.issues` "
          + "names the file, and in it the line. What the account has already stays as it is, so the "
          + "same archive may be sent again; what is in the trash is restored. Ids and share tokens are new, places are "
          + "derived again. An archive that is over a quota of the account is refused as a whole (409). `routes.json` and what "
          + `else is read of it may unpack to ${mebibytes(MAX_UNPACKED)}. At most ${mebibytes(ARCHIVE_BODY_LIMIT)} and `
          + `${grouped(MAX_ARCHIVE_FILES)} files; it may fall ${inWords(BODY_ALLOWANCE.grace)} behind `
          + `${BODY_ALLOWANCE.bytesPerSecond / 1024} KiB a second; one at a time.`
      ))
  )
  .annotateEndpoints(Tier, "strict")
  .middleware(NoParameters)
  .middleware(SessionAuthentication)
  .prefix("/users/me")
  .annotateMerge(titled("Account data", "An account as a whole, to keep or to take elsewhere."))
{}
