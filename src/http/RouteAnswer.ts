import { HttpServerResponse } from "effect/http"
import type { StoredRoute } from "../schema/Route.ts"

/**
 * A route as JSON. Its long members are JSON text already and go in as they stand: parsing and printing them again would
 * be most of the work of a read.
 */
const toJson = ({ geometry, waypoints, ...members }: StoredRoute): string => {
  const text = JSON.stringify(members)
  const line = geometry === undefined ? "" : `,"geometry":${geometry}`
  return `${text.slice(0, -1)},"waypoints":${waypoints}${line}}`
}

const json = (body: string, options?: HttpServerResponse.Options) =>
  HttpServerResponse.text(body, { ...options, contentType: "application/json" })

export const routeAnswer = (route: StoredRoute, options?: HttpServerResponse.Options) => json(toJson(route), options)

export const routesAnswer = (routes: ReadonlyArray<StoredRoute>, options?: HttpServerResponse.Options) =>
  json(`[${routes.map(toJson).join(",")}]`, options)
