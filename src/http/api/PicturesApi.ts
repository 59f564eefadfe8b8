import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { NotFound } from "../../schema/Errors.ts"
import { RouteRef } from "../../schema/Ids.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { PICTURE_SIDE, PictureQuery } from "../../schema/Picture.ts"
import { OptionalAuthentication } from "./Access.ts"
import { described, titled } from "./Described.ts"
import { HEADERS, OwnHeaders } from "./Headers.ts"
import { NoneMatchHeader } from "./Requests.ts"

const TEXT =
  "What the caller may see of a route, by the rules of `GET /routes/{ref}`: its line (its waypoints where it has none) on a "
  + "plain ground, with start (round), end (square), waypoints and a scale bar, and the attribution of road data for a line "
  + `of the routing engine. ${PICTURE_SIDE.minimum} to ${PICTURE_SIDE.maximum} pixels a side. Elevations are drawn where `
  + "at least two positions have one. The scale bar is left out where the scale differs too much within the picture, all "
  + "texts where the picture is too small for them. A public or unlisted route's picture may be stored by caches of "
  + "anonymous callers, which ask again each time (`ETag`, 304)."

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
    }).annotateMerge(described("Draw a route as SVG", TEXT)),
    HttpApiEndpoint.get("png", "/:ref/picture.png", {
      ...request,
      success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: MEDIA_TYPES.png }))
    }).annotateMerge(described("Draw a route as PNG", `${TEXT} The same as the SVG, in pixels.`))
  )
  .middleware(OptionalAuthentication)
  .annotateEndpoints(OwnHeaders, [HEADERS.etag.name, HEADERS.cacheControl.name, HEADERS.robots.name])
  .prefix("/routes")
  .annotateMerge(titled("Pictures", "Routes as pictures, made when they are first requested."))
{}
