import { Effect, Option, type Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { RouteRef } from "../../schema/Ids.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { type PictureFormat, pictureOptions, type PictureQuery } from "../../schema/Picture.ts"
import { Pictures } from "../../services/pictures/Pictures.ts"
import { Viewer } from "../api/Access.ts"
import { Api } from "../api/Api.ts"
import { HEADERS } from "../api/Headers.ts"
import type { NoneMatchHeader } from "../api/Requests.ts"
import { worded } from "../response/PublicErrors.ts"
import { isKnown, robotsFor, storableFor } from "../response/Versioned.ts"

interface PictureCall {
  readonly headers: Schema.Struct.Type<typeof NoneMatchHeader>
  readonly params: { readonly ref: RouteRef }
  readonly query: typeof PictureQuery.Type
  readonly request: HttpServerRequest.HttpServerRequest
}

export const PicturesHandlers = HttpApiBuilder.group(
  Api,
  "pictures",
  Effect.fn(function*(handlers) {
    const pictures = yield* Pictures

    const respond = (format: PictureFormat) =>
      Effect.fnUntraced(function*({ headers, params, query, request }: PictureCall) {
        const viewer = Option.map(yield* Viewer, ({ userId }) => userId)
        const { bytes, digest, visibility } = yield* pictures.find(params.ref, viewer, format, pictureOptions(query))
        const etag = `"${digest}"`
        const common = {
          [HEADERS.etag.key]: etag,
          ...storableFor(request, visibility)
        }
        return isKnown(headers[HEADERS.ifNoneMatch.key], etag)
          ? HttpServerResponse.empty({ status: 304, headers: common })
          : HttpServerResponse.uint8Array(yield* bytes, {
            contentType: MEDIA_TYPES[format],
            headers: { ...common, ...robotsFor(visibility) }
          })
      }, worded)

    return handlers.handleAll({ svg: respond("svg"), png: respond("png") })
  })
)
