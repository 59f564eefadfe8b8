import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { GeometryForm } from "../../schema/Geometry.ts"
import type { ImportWarning } from "../../schema/Import.ts"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import type { StoredRoute } from "../../schema/Route.ts"
import { etagOf, isKnown } from "./ETag.ts"

/**
 * A route as JSON. Its long members are JSON text already and go in as they stand: parsing and printing them again would
 * be most of the work of a read.
 */
const toJson = ({ geometry, polyline6, waypoints, ...members }: StoredRoute): string => {
  const text = JSON.stringify({ ...members, version: undefined })
  return `${text.slice(0, -1)},"waypoints":${waypoints}${member("geometry", geometry)}${
    member("polyline6", polyline6)
  }}`
}

const member = (name: string, json: string | undefined) => json === undefined ? "" : `,"${name}":${json}`

export const json = (body: string, options?: HttpServerResponse.Options) =>
  HttpServerResponse.text(body, { ...options, contentType: MEDIA_TYPES.json })

/** A route of a file with what the import did to it, as JSON. */
export const importedJson = (route: StoredRoute, warnings: ReadonlyArray<ImportWarning>): string =>
  `${toJson(route).slice(0, -1)},"warnings":${JSON.stringify(warnings)}}`

/** A route with its entity tag. */
export const routeAnswer = (
  route: StoredRoute,
  options: HttpServerResponse.Options = {},
  form: GeometryForm = "full"
) => json(toJson(route), { ...options, headers: { ...options.headers, etag: etagOf(route, form) } })

/** A route that was made just now. */
export const createdAnswer = (route: StoredRoute) =>
  routeAnswer(route, { status: 201, headers: { location: `/api/v1/routes/${route.id}` } })

/** The same for a read: 304 without a body for a client that has it already. */
export const routeRead = (route: StoredRoute, form: GeometryForm, ifNoneMatch: string | undefined) => {
  const etag = etagOf(route, form)
  return isKnown(ifNoneMatch, etag)
    ? HttpServerResponse.empty({ status: 304, headers: { etag } })
    : routeAnswer(route, {}, form)
}

/** So much of a page is written and encoded at once: a page of 16 MiB would hold up others for more than 50 ms. */
const PART_LENGTH = 1024 * 1024

/** The JSON of a page in parts, of which each but the last is long. */
function* partsOf(routes: ReadonlyArray<StoredRoute>): Generator<string> {
  let part = "["
  for (const [index, route] of routes.entries()) {
    part += index === 0 ? toJson(route) : `,${toJson(route)}`
    if (part.length < PART_LENGTH) continue
    yield part
    part = ""
  }
  yield `${part}]`
}

/** Some routes as JSON. Others run between the parts of a long page. */
export const routesAnswer = Effect.fnUntraced(function*(
  routes: ReadonlyArray<StoredRoute>,
  headers: Readonly<Record<string, string>>
) {
  const parts: Array<Uint8Array> = []
  for (const part of partsOf(routes)) {
    if (parts.length > 0) yield* Effect.yieldNow
    parts.push(Buffer.from(part))
  }
  return HttpServerResponse.uint8Array(Buffer.concat(parts), { headers, contentType: MEDIA_TYPES.json })
})
