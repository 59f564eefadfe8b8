import { PICTURE_SIDE } from "../../../schema/Picture.ts"
import { described, titled } from "./Described.ts"

const TEXT =
  "What the caller may see of a route, by the rules of `GET /routes/{ref}`: its line (its waypoints where it has none) on a "
  + "plain ground, with start (round), end (square), waypoints and a scale bar, and the attribution of road data for a line "
  + `of the routing engine. ${PICTURE_SIDE.minimum} to ${PICTURE_SIDE.maximum} pixels a side. Elevations are drawn where `
  + "at least two positions have one. The scale bar is left out where the scale differs too much within the picture, all "
  + "texts where the picture is too small for them. A public or unlisted route's picture may be stored by caches of "
  + "anonymous callers, which ask again each time (`ETag`, 304)."

export const texts = {
  svg: described("Draw a route as SVG", TEXT),
  png: described("Draw a route as PNG", `${TEXT} The same as the SVG, in pixels.`),
  group: titled("Pictures", "Routes as pictures, made when they are first requested.")
}
