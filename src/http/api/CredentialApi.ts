import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Credential } from "../../schema/Credential.ts"
import { ENDED_TOKENS_KEPT, inWords, TOKEN_EXPIRY_MAILED, TOKEN_EXPIRY_NOTICE } from "../../schema/Limits.ts"
import { OpenWhilePending, RequiredScope } from "./Access.ts"
import { CallerAuthentication } from "./Authentication.ts"
import { described, titled } from "./Described.ts"
import { NoParameters } from "./Requests.ts"

export class CredentialApi extends HttpApiGroup.make("credential")
  .add(
    HttpApiEndpoint.get("describe", "/credential", { success: Credential }).annotateMerge(described(
      "Describe the credential",
      "What the session or the personal access token of the request is: a light check of a connection. A token that is "
        + "refused is 401 with `details.reason`: `token_malformed` (its checksum does not fit), `token_unknown`, "
        + `\`token_revoked\` or \`token_expired\` (both for ${inWords(ENDED_TOKENS_KEPT)}), which are final, or `
        + "`account_pending_deletion`: keep that token, it works again after the deletion is cancelled. In the last "
        + `${inWords(TOKEN_EXPIRY_NOTICE)} before a token expires each response to a request that it authenticates has `
        + `\`X-Token-Expires-At\`; its owner gets a mail ${inWords(TOKEN_EXPIRY_MAILED)} before.`
    ))
  )
  .annotateEndpoints(OpenWhilePending, true)
  .annotateEndpoints(RequiredScope, "read")
  .middleware(NoParameters)
  .middleware(CallerAuthentication)
  .prefix("/me")
  .annotateMerge(titled("Credential", "What one is signed in with."))
{}
