import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { ValidationFailed } from "../../schema/Errors.ts"
import { MAX_ISSUES } from "../../schema/Issues.ts"
import { NoParameters } from "../api/Requests.ts"

const refuseAll = Effect.flatMap(HttpServerRequest.ParsedSearchParams, (query) => {
  const issues = Object.keys(query).map((path) => ({ path, message: "Unknown parameter: Expected none" }))
  return issues.length === 0 ? Effect.void : Effect.fail(ValidationFailed.of(issues.slice(0, MAX_ISSUES)))
})

/** An ignored parameter may be a misspelt one: an ignored `dryRun` would import. */
export const noParametersLayer = Layer.succeed(
  NoParameters,
  (httpEffect, { endpoint }) => endpoint.query === undefined ? Effect.andThen(refuseAll, httpEffect) : httpEffect
)
