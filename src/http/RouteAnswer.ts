import { HttpServerResponse } from "effect/http"
import type { GeometryForm } from "../schema/Geometry.ts"
import type { StoredRoute } from "../schema/Route.ts"
import type { ReadFile } from "../services/routes/RouteJobs.ts"
import { etagOf, isKnown } from "./ETag.ts"

/**
 * A route as JSON. Its long members are JSON text already and go in as they stand: parsing and printing them again would
 * be most of the work of a read.
 */
const toJson = ({ geometry, waypoints, ...members }: StoredRoute): string => {
  const text = JSON.stringify({ ...members, version: undefined })
  const line = geometry === undefined ? "" : `,"geometry":${geometry}`
  return `${text.slice(0, -1)},"waypoints":${waypoints}${line}}`
}

const json = (body: string, options?: HttpServerResponse.Options) =>
  HttpServerResponse.text(body, { ...options, contentType: "application/json" })

/** A route with its entity tag. */
export const routeAnswer = (
  route: StoredRoute,
  options: HttpServerResponse.Options = {},
  form: GeometryForm = "full"
) => json(toJson(route), { ...options, headers: { ...options.headers, etag: etagOf(route, form) } })

/** A route that was made just now. */
export const createdAnswer = (route: StoredRoute) =>
  routeAnswer(route, { status: 201, headers: { location: `/api/v1/routes/${route.id}` } })

/** What a file would become, and what of it would not. */
export const readAnswer = ({ dropped, format, line, route }: ReadFile) => {
  const text = JSON.stringify({ format, dropped, route })
  return json(`${text.slice(0, -2)},"geometry":${line.json}}}`)
}

/** The same for a read: without a body for whoever has it already. */
export const routeRead = (route: StoredRoute, form: GeometryForm, ifNoneMatch: string | undefined) => {
  const etag = etagOf(route, form)
  return isKnown(ifNoneMatch, etag)
    ? HttpServerResponse.empty({ status: 304, headers: { etag } })
    : routeAnswer(route, {}, form)
}

export const routesAnswer = (routes: ReadonlyArray<StoredRoute>, options?: HttpServerResponse.Options) =>
  json(`[${routes.map(toJson).join(",")}]`, options)
