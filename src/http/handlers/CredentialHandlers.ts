import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CallerCredential } from "../../services/credentials/CallerCredential.ts"
import { Api } from "../api/Api.ts"
import { Caller } from "../api/Authentication.ts"
import { handlersOf } from "./HandlerGroups.ts"

export const CredentialHandlers = handlersOf(
  "credential",
  Effect.gen(function*() {
    const credentials = yield* CallerCredential
    return HttpApiBuilder.group(
      Api,
      "credential",
      (handlers) => handlers.handle("describe", () => Effect.flatMap(Caller, credentials.describe))
    )
  })
)
