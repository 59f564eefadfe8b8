import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CallerCredential } from "../../services/accounts/Tokens.ts"
import { Api } from "../api/Api.ts"
import { Caller } from "../api/Authentication.ts"

export const CredentialHandlers = HttpApiBuilder.group(
  Api,
  "credential",
  Effect.fn(function*(handlers) {
    const credentials = yield* CallerCredential
    return handlers.handle("describe", () => Effect.flatMap(Caller, credentials.describe))
  })
)
