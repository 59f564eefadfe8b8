import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, NotFound } from "../../schema/Errors.ts"
import { TokenIdFromPath } from "../../schema/Ids.ts"
import { DEFAULT_TOKEN_DAYS } from "../../schema/Limits.ts"
import { listQuery, ONLY_KNOWN } from "../../schema/Page.ts"
import { MintedToken, NewToken, PersonalAccessToken } from "../../schema/Token.ts"
import { Tier } from "./Access.ts"
import { SessionAuthentication } from "./Authentication.ts"
import { JsonBody } from "./Requests.ts"
import { Success } from "./Success.ts"

export class TokensApi extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.get("list", "/", { query: listQuery({}), success: Schema.Array(PersonalAccessToken) }).annotate(
      HttpApi.QueryParseOptions,
      ONLY_KNOWN
    ).annotate(
      OpenApi.Summary,
      "List own tokens"
    ).annotate(
      OpenApi.Description,
      "The caller's live personal access tokens, newest first, without the tokens themselves."
    ),
    HttpApiEndpoint.post("mint", "/", {
      payload: NewToken,
      success: MintedToken.pipe(HttpApiSchema.status("Created")),
      error: Conflict
    }).annotate(Tier, "strict").annotate(OpenApi.Summary, "Make a token").annotate(
      OpenApi.Description,
      `Makes a token; \`token\` is shown this once. Good for ${DEFAULT_TOKEN_DAYS} days unless \`expiresInDays\` `
        + "says otherwise (`null`: for "
        + "ever). A user has at most 50."
    ),
    HttpApiEndpoint.delete("revoke", "/:id", {
      params: { id: TokenIdFromPath },
      success: Success,
      error: NotFound
    }).annotate(OpenApi.Summary, "Revoke a token").annotate(
      OpenApi.Description,
      "Revokes a token: no request that begins later passes."
    )
  )
  .middleware(JsonBody)
  .middleware(SessionAuthentication)
  .prefix("/auth/tokens")
  .annotate(OpenApi.Title, "Tokens")
  .annotate(OpenApi.Description, "Personal access tokens, for scripts and apps.")
{}
