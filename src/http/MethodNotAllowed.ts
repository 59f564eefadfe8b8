import { Array as Arr } from "effect"
import { HttpMethod, HttpRouter, HttpServerResponse } from "effect/http"
import { MethodNotAllowed } from "../schema/Errors.ts"
import { toResponse } from "./ErrorResponse.ts"
import { paths } from "./RouteTemplates.ts"

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

/** The same for a path outside the contract that answers GET. */
export const methodsRefusedAt = (path: HttpRouter.PathInput) => HttpRouter.addAll(refusalsOf(path, withHead(["GET"])))

/** Answers every known path with a method that it does not have; the router alone would call it unknown. */
export const methodNotAllowedLayer = HttpRouter.addAll(
  paths.flatMap((endpoints) =>
    refusalsOf(endpoints[0].path, withHead(Arr.dedupe(endpoints.map((endpoint) => endpoint.method))))
  )
)
