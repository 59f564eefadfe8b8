import { Array as Arr, Effect } from "effect"
import { HttpMethod, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { MethodNotAllowed } from "../../schema/Errors.ts"
import { paths, routedMethod } from "../request/RouteTemplates.ts"
import { toResponse } from "./ErrorResponse.ts"

/** A path that answers GET answers HEAD. */
const withHead = (methods: ReadonlyArray<string>) => methods.includes("GET") ? [...methods, "HEAD"] : methods

const refusal = (allowed: ReadonlyArray<string>) => {
  const response = toResponse(
    new MethodNotAllowed({ message: `This path has ${allowed.join(", ")}`, details: { allowed: [...allowed] } })
  )
  return HttpServerResponse.setHeader(response, "allow", allowed.join(", "))
}

const refusalsOf = (path: HttpRouter.PathInput, allowed: ReadonlyArray<string>) =>
  [...HttpMethod.all]
    .filter((method) => !allowed.includes(method))
    .map((method) => HttpRouter.route(method, path, refusal(allowed)))

/** The same for a path outside the contract, which has GET unless it is said. */
export const methodsRefusedAt = (path: HttpRouter.PathInput, methods: ReadonlyArray<string> = ["GET"]) =>
  HttpRouter.addAll(refusalsOf(path, withHead(methods)))

/** Answers every known path with a method that it does not have; the router alone would call it unknown. */
export const methodNotAllowedLayer = HttpRouter.addAll(
  paths.flatMap((endpoints) =>
    refusalsOf(endpoints[0].path, withHead(Arr.dedupe(endpoints.map((endpoint) => endpoint.method))))
  )
)

const routed = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest => {
  const method = routedMethod(request.method)
  return method === request.method ? request : Object.create(request, { method: { value: method } })
}

/** Routes a request with an unusual method (PROPFIND, PURGE) to where its path is refused, or to no path at all. */
export const otherMethodsLayer = HttpRouter.middleware(
  (httpEffect) => Effect.updateService(httpEffect, HttpServerRequest.HttpServerRequest, routed),
  { global: true }
)
