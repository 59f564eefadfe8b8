import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { MintedToken, NewToken, PersonalAccessToken } from "../../schema/Credential.ts"
import { Conflict, Forbidden, NotFound } from "../../schema/Errors.ts"
import { TokenIdFromPath } from "../../schema/Ids.ts"
import { DEFAULT_TOKEN_DAYS, MAX_TOKENS } from "../../schema/Limits.ts"
import { listQuery } from "../../schema/Page.ts"
import { Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { described, titled } from "./Described.ts"
import { JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"

export class TokensApi extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(PersonalAccessToken) })
      .annotateMerge(described(
        "List own tokens",
        "The caller's live personal access tokens, newest first, without the tokens themselves."
      )),
    HttpApiEndpoint.post("mint", "/", {
      payload: NewToken,
      success: MintedToken.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, Forbidden]
    })
      .annotate(Tier, "strict")
      .annotateMerge(described(
        "Make a token",
        `Makes a token; \`token\` is shown this once. Expires after ${DEFAULT_TOKEN_DAYS} days unless \`expiresInDays\` `
          + "says otherwise. With `null` it never expires, which needs `currentPassword`: 400 without it or where the account "
          + `has no password, 403 if it is wrong. Its owner gets a mail. A user has at most ${MAX_TOKENS}.`
      )),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params: { id: TokenIdFromPath },
      success: Success,
      error: NotFound
    }).annotateMerge(described("Revoke a token", "Revokes a token: no request that begins later passes."))
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(SessionAuthentication)
  .prefix("/auth/tokens")
  .annotateMerge(titled("Tokens", "Personal access tokens, for scripts and apps."))
{}
