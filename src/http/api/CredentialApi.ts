import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Credential } from "../../schema/Credential.ts"
import { OpenWhilePending, RequiredScope } from "./Access.ts"
import { CallerAuthentication } from "./Authentication.ts"
import { NoParameters } from "./Requests.ts"
import { texts } from "./texts/CredentialTexts.ts"

export class CredentialApi extends HttpApiGroup.make("credential")
  .add(
    HttpApiEndpoint.get("describe", "/credential", { success: Credential }).annotateMerge(texts.describe)
  )
  .annotateEndpoints(OpenWhilePending, true)
  .annotateEndpoints(RequiredScope, "read")
  .middleware(NoParameters)
  .middleware(CallerAuthentication)
  .prefix("/me")
  .annotateMerge(texts.group)
{}
