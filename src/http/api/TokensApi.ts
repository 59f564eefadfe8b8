import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Credential, MintedToken, NewToken, PersonalAccessToken } from "../../schema/Credential.ts"
import { Conflict, Forbidden, NotFound } from "../../schema/Errors.ts"
import { TokenIdFromPath } from "../../schema/Ids.ts"
import {
  DEFAULT_TOKEN_DAYS,
  ENDED_TOKENS_KEPT,
  inWords,
  MAX_TOKENS,
  TOKEN_EXPIRY_MAILED,
  TOKEN_EXPIRY_NOTICE
} from "../../schema/Limits.ts"
import { listQuery } from "../../schema/Page.ts"
import { CallerAuthentication, OpenWhilePending, RequiredScope, SessionAuthentication, Tier } from "./Access.ts"
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

export class CredentialApi extends HttpApiGroup.make("credential")
  .add(
    HttpApiEndpoint.get("describe", "/credential", { success: Credential }).annotateMerge(described(
      "Describe the credential",
      "What the session or the personal access token of the request is: a light check of a connection. A token that is "
        + "refused is 401 with `details.reason`: `token_malformed` (its checksum does not fit), `token_unknown`, "
        + `\`token_revoked\` or \`token_expired\` (both for ${inWords(ENDED_TOKENS_KEPT)}), which are final, or `
        + "`account_pending_deletion`: keep that token, it works again after the deletion is cancelled. In the last "
        + `${inWords(TOKEN_EXPIRY_NOTICE)} before a token expires each response to a request that it authenticates has `
        + `\`X-Token-Expires-At\`; its owner gets a mail on the day (UTC) that is ${
          inWords(TOKEN_EXPIRY_MAILED)
        } before.`
    ))
  )
  .annotateEndpoints(OpenWhilePending, true)
  .annotateEndpoints(RequiredScope, "read")
  .middleware(NoParameters)
  .middleware(CallerAuthentication)
  .prefix("/me")
  .annotateMerge(titled("Credential", "What one is signed in with."))
{}
