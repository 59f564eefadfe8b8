import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ChangePage, SyncQuery } from "../../schema/Change.ts"
import { Forbidden, Gone, RateLimited, Unauthorized } from "../../schema/Errors.ts"
import { RequiredScope } from "./Access.ts"
import { CallerAuthentication } from "./Authentication.ts"
import { texts } from "./texts/SyncTexts.ts"

export class SyncApi extends HttpApiGroup.make("sync")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: SyncQuery,
      success: ChangePage,
      error: [Gone, Unauthorized, Forbidden, RateLimited]
    })
      .annotate(RequiredScope, "read")
      .annotateMerge(texts.list)
  )
  .middleware(CallerAuthentication)
  .prefix("/sync")
  .annotateMerge(texts.group)
{}
