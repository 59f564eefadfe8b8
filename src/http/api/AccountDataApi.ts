import { Duration } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { ARCHIVE_BODY_LIMIT, ImportReport, MAX_ARCHIVE_FILES, MAX_UNPACKED } from "../../schema/Archive.ts"
import {
  Conflict,
  PayloadTooLarge,
  PreconditionRequired,
  RequestTimeout,
  Unavailable,
  UnsupportedMediaType,
  ValidationFailed
} from "../../schema/Errors.ts"
import { MAX_TRACKS, MAX_UNPACKED_BYTES } from "../../schema/Import.ts"
import { BODY_ALLOWANCE, grouped, inWords } from "../../schema/Limits.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { MAX_UNPACKED_ROUTES, ZipImportLine, ZipImportQuery } from "../../schema/ZipImport.ts"
import { CallerAuthentication, OpenWhilePending, SessionAuthentication, Tier } from "./Access.ts"
import { described, mebibytes, titled } from "./Described.ts"
import { BodyLimit, ConfirmHeader, NoParameters, ResponseWithin } from "./Requests.ts"

const archive = HttpApiSchema.StreamUint8Array({ contentType: MEDIA_TYPES.zip })

export class AccountDataApi extends HttpApiGroup.make("accountData")
  .add(
    HttpApiEndpoint.get("export", "/export", { success: archive })
      .middleware(NoParameters)
      .middleware(SessionAuthentication)
      .annotate(OpenWhilePending, true)
      .annotateMerge(described(
        "Export the account",
        "Everything in the account as a ZIP archive: `profile.json` with privacy zones and linked identity providers, `routes.json` (one route a line), a GPX file for each "
          + "route, `collections.json`, `tokens.json` and `sessions.json` without secrets, and `manifest.json` with counts and "
          + "the SHA-256 of each file. Deleted routes and links are left out. It is made while it is read: an archive that is incomplete "
          + "has no directory and does not open."
      )),
    HttpApiEndpoint.post("import", "/import", {
      headers: ConfirmHeader,
      query: ZipImportQuery,
      payload: archive,
      success: [
        ImportReport.pipe(HttpApiSchema.status("Created")),
        HttpApiSchema.StreamNdjson({ schema: ZipImportLine, contentType: MEDIA_TYPES.lines })
      ],
      error: [
        Conflict,
        PayloadTooLarge,
        PreconditionRequired,
        RequestTimeout,
        Unavailable,
        UnsupportedMediaType,
        ValidationFailed
      ]
    })
      .middleware(CallerAuthentication)
      .annotate(BodyLimit, ARCHIVE_BODY_LIMIT)
      .annotate(ResponseWithin, Duration.minutes(2))
      .annotateMerge(described(
        "Import an archive",
        "Imports a ZIP archive. One of `GET /users/me/export`, of this account or another one, is known by its "
          + "`manifest.json` or `routes.json`, or by both in the folder of all its files; it needs a session, and its response "
          + "is the report. Its routes, its collections, and the preferences that are not set here are imported. It is checked as a "
          + "whole before anything is stored; `details.issues` names the file, and in it the line. What the account has already stays "
          + "as it is, so the same archive may be sent again; what is in the trash is restored, a collection with the routes that it "
          + "lost. Ids and share tokens are new, places are derived again. An archive that is over a quota of the account is refused as "
          + "a whole (409). `routes.json` and what "
          + `else is read of it may unpack to ${mebibytes(MAX_UNPACKED)}.\n\n`
          + "Any other ZIP is one of route files, as other services and devices give them, which a token with the scope `write` "
          + "may send too; the parameters are for these. Each GPX, GeoJSON, TCX, KML, KMZ and FIT file becomes routes, one for each of "
          + `its tracks (at most ${MAX_TRACKS}), `
          + "also in folders, with gzip (`.fit.gz`) and in a nested ZIP; names, descriptions and sources are those of "
          + "Strava's `activities.csv` where that is there, and the names of Garmin's uploads those of its `*_summarizedActivities.json` for "
          + "the time at which each was recorded; else the `source` is the page of Strava, Garmin Connect, Komoot, Ride with GPS or "
          + "wanderer that a GPX file links to, or by the number that Garmin Connect, or a program that fetches the files of Komoot or "
          + "wanderer, puts into the name of a file. The response is a line of JSON for each file, while it is imported: "
          + "`imported` with the ids and what was changed or left out, `duplicate` of own routes with the same source or positions, or `skipped` with the "
          + "reason; before them `begun`, after them `ended`. A file that cannot be read stops no other. Where the import cannot go on "
          + "(the credential ends, the service stops), the last line is `stopped`, or missing: send the same "
          + "archive again, and it skips what is there. A full quota skips the rest, and says so. A file may have "
          + `${mebibytes(MAX_UNPACKED_BYTES)}, and all may unpack to ${
            mebibytes(MAX_UNPACKED_ROUTES)
          }; encrypted files and links are skipped. `
          + "With `visibility=public` a token must confirm.\n\n"
          + `At most ${mebibytes(ARCHIVE_BODY_LIMIT)} and ${grouped(MAX_ARCHIVE_FILES)} files; it may fall `
          + `${inWords(BODY_ALLOWANCE.grace)} behind ${
            BODY_ALLOWANCE.bytesPerSecond / 1024
          } KiB a second; one at a time.`
      ))
  )
  .annotateEndpoints(Tier, "strict")
  .prefix("/users/me")
  .annotateMerge(titled("Account data", "An account as a whole, to keep or to take elsewhere."))
{}
