import { Context, Effect, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { ZipImportLine } from "../../schema/ZipImport.ts"
import { AccountExport } from "../../services/archive/Export.ts"
import { ZipImports } from "../../services/archive/ZipImport.ts"
import { Caller, CurrentSession } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyLimit } from "../api/Requests.ts"
import { makeReadmit } from "../auth/Admission.ts"
import { withoutFailure } from "../middleware/ZipImportLines.ts"
import { publishingAll, requireConfirmed } from "../request/Confirmation.ts"
import { zipStream } from "../request/RequestBodies.ts"
import { Downloads, takenInTime } from "../response/Downloads.ts"
import { worded } from "../response/PublicErrors.ts"
import { withLocation } from "../response/Versioned.ts"

const toText = <E, R>(lines: Stream.Stream<ZipImportLine, E, R>) =>
  Stream.encodeText(Stream.map(lines, (line) => `${JSON.stringify(line)}\n`))

export const AccountDataHandlers = HttpApiBuilder.group(
  Api,
  "accountData",
  Effect.fn(function*(handlers) {
    const downloads = yield* Downloads
    const exports = yield* AccountExport
    const imports = yield* ZipImports
    const readmit = yield* makeReadmit

    return handlers
      .handle("export", () =>
        Effect.gen(function*() {
          const { sessionId, userId } = yield* CurrentSession
          yield* downloads.admit
          return HttpServerResponse.stream(takenInTime(yield* worded(exports.archive(userId, sessionId))), {
            contentType: MEDIA_TYPES.zip,
            headers: { [HEADERS.contentDisposition.key]: "attachment; filename=\"account-export.zip\"" }
          })
        }))
      // The handler is raw: the framework refuses other content types with its own error shape.
      .handleRaw("import", ({ endpoint, headers, query, request }) =>
        Effect.gen(function*() {
          const caller = yield* Caller
          if (query.visibility === "public") yield* requireConfirmed(caller, headers, Effect.succeed(publishingAll))
          const upload = zipStream(request, Context.get(endpoint.annotations, BodyLimit))
          const taken = yield* worded(imports.take(caller.userId, upload, Effect.succeed(query), {
            isSession: caller.kind === "session",
            // The credential may be revoked while files are imported.
            recheck: Effect.provideService(readmit(caller, endpoint), HttpServerRequest.HttpServerRequest, request)
          }))
          if ("report" in taken) return yield* withLocation(Effect.succeed(taken.report), () => "/routes")
          return HttpServerResponse.stream(takenInTime(toText(withoutFailure(taken.lines))), {
            contentType: MEDIA_TYPES.lines
          })
        }))
  })
)
