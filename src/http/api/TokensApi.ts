import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Conflict, Forbidden, NotFound } from "../../schema/Errors.ts"
import { TokenIdFromPath } from "../../schema/Ids.ts"
import { listQuery } from "../../schema/Page.ts"
import { MintedToken, NewToken, PersonalAccessToken } from "../../schema/Token.ts"
import { Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { JsonBody, NoParameters } from "./Requests.ts"
import { Success } from "./Success.ts"
import { texts } from "./texts/TokensTexts.ts"

export class TokensApi extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(PersonalAccessToken) })
      .annotateMerge(texts.list),
    HttpApiEndpoint.post("mint", "/", {
      payload: NewToken,
      success: MintedToken.pipe(HttpApiSchema.status("Created")),
      error: [Conflict, Forbidden]
    })
      .annotate(Tier, "strict")
      .annotateMerge(texts.mint),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params: { id: TokenIdFromPath },
      success: Success,
      error: NotFound
    }).annotateMerge(texts.revoke)
  )
  .middleware(NoParameters)
  .middleware(JsonBody)
  .middleware(SessionAuthentication)
  .prefix("/auth/tokens")
  .annotateMerge(texts.group)
{}
