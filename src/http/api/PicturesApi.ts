import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { RouteRef } from "../../schema/Ids.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { PictureQuery } from "../../schema/Picture.ts"
import { OptionalAuthentication } from "./Authentication.ts"
import { HEADERS, OwnHeaders } from "./Headers.ts"
import { NoneMatchHeader } from "./Requests.ts"
import { texts } from "./texts/PicturesTexts.ts"

const request = {
  headers: NoneMatchHeader,
  params: { ref: RouteRef },
  query: PictureQuery,
  error: NotFound
}

export class PicturesApi extends HttpApiGroup.make("pictures")
  .add(
    HttpApiEndpoint.get("svg", "/:ref/picture.svg", {
      ...request,
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: MEDIA_TYPES.svg }))
    }).annotateMerge(texts.svg),
    HttpApiEndpoint.get("png", "/:ref/picture.png", {
      ...request,
      success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: MEDIA_TYPES.png }))
    }).annotateMerge(texts.png)
  )
  .middleware(OptionalAuthentication)
  .annotateEndpoints(OwnHeaders, [HEADERS.etag.name, HEADERS.cacheControl.name])
  .prefix("/routes")
  .annotateMerge(texts.group)
{}
