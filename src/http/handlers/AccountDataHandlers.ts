import { Context, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { AccountExport } from "../../services/archive/Export.ts"
import { AccountImport } from "../../services/archive/Import.ts"
import { Api } from "../api/Api.ts"
import { CurrentSession } from "../api/Authentication.ts"
import { HEADERS } from "../api/Headers.ts"
import { BodyLimit } from "../api/Requests.ts"
import { zipStream } from "../request/RequestBodies.ts"
import { Downloads, takenInTime } from "../response/Downloads.ts"
import { worded } from "../response/PublicErrors.ts"
import { withLocation } from "../response/Versioned.ts"

export const AccountDataHandlers = HttpApiBuilder.group(
  Api,
  "accountData",
  Effect.fn(function*(handlers) {
    const downloads = yield* Downloads
    const exports = yield* AccountExport
    const imports = yield* AccountImport

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
      // Raw: the framework refuses other content types with its own error shape.
      .handleRaw("import", ({ endpoint, request }) =>
        Effect.gen(function*() {
          const { userId } = yield* CurrentSession
          const limitBytes = Context.get(endpoint.annotations, BodyLimit)
          return yield* withLocation(
            worded(imports.restore(userId, zipStream(request, limitBytes))),
            () => "/routes"
          )
        }))
  })
)
