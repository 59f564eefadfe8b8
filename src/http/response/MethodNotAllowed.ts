import { Array as Arr, Effect } from "effect"
import { HttpMethod, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { MethodNotAllowed } from "../../schema/Errors.ts"
import { paths, routedMethod } from "../request/RouteTemplates.ts"
import { toResponse } from "./ErrorResponse.ts"

const withHead = (methods: ReadonlyArray<string>) => methods.includes("GET") ? [...methods, "HEAD"] : methods

const refusal = (allowed: ReadonlyArray<string>) => {
  const response = toResponse(
    new MethodNotAllowed({
      message: `Expected one of the methods ${allowed.join(", ")}`,
      details: { allowed: [...allowed] }
    })
  )
  return HttpServerResponse.setHeader(response, "allow", allowed.join(", "))
}

const refusalsOf = (path: HttpRouter.PathInput, allowed: ReadonlyArray<string>) =>
  [...HttpMethod.all]
    .filter((method) => !allowed.includes(method))
    .map((method) => HttpRouter.route(method, path, Effect.sync(() => refusal(allowed))))

/** 405 for a path outside of the contract. */
export const methodsRefusedAt = (path: HttpRouter.PathInput, methods: ReadonlyArray<string> = ["GET"]) =>
  HttpRouter.addAll(refusalsOf(path, withHead(methods)))

/** 405 for known paths; the router alone would return 404. */
export const methodNotAllowedLayer = HttpRouter.addAll(
  paths.flatMap((endpoints) =>
    refusalsOf(endpoints[0].path, withHead(Arr.dedupe(endpoints.map((endpoint) => endpoint.method))))
  )
)

const routed = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest => {
  const method = routedMethod(request.method)
  return method === request.method ? request : Object.create(request, { method: { value: method } })
}

/** Returns 405 or 404 for methods unknown to the router (PROPFIND, PURGE). */
export const otherMethodsLayer = HttpRouter.middleware(
  (httpEffect) => Effect.updateService(httpEffect, HttpServerRequest.HttpServerRequest, routed),
  { global: true }
)
