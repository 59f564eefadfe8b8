import { Array as Arr, Predicate, Record } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../Api.ts"
import { type Declared, declaredEndpoints } from "./Declared.ts"
import { ERROR_EXAMPLES, EXAMPLES } from "./Examples.ts"
import { answerHeaders, errorHeaders, HEADERS, references } from "./Headers.ts"
import { parametersOf } from "./Parameters.ts"
import { SECURITY_SCHEMES, securityOf } from "./Security.ts"
import { conditionsOf } from "./Words.ts"

type Operation = OpenApi.OpenAPISpecOperation
type Response = OpenApi.OpenApiSpecResponse

const METHODS = ["get", "put", "post", "patch", "delete"] as const

const COMPONENT = "#/components/schemas/"

/** The name of the error class that an error answer has as its body. */
const errorName = ({ content }: Response): string =>
  String(content?.["application/json"]?.schema["$ref"]).replace(COMPONENT, "").replace(/Encoded$/, "")

const isError = (status: string) => Number(status) >= 400

/** What was asked for is what the client has already. */
const notModified = { description: "Not modified", headers: references(["ETag"]) }

const describeAnswer = (status: string, response: Response, operation: Operation, declared: Declared) =>
  isError(status)
    ? { $ref: `#/components/responses/${errorName(response)}` }
    : {
      ...response,
      headers: { ...references(answerHeaders(Number(status), response, operation, declared)), ...response.headers }
    }

const describeAnswers = (operation: Operation, declared: Declared) => ({
  ...(operation.parameters.some(({ name }) => name === "if-none-match") ? { 304: notModified } : {}),
  ...Object.fromEntries(
    Object.entries(operation.responses)
      .filter(([status]) => !isError(status) || declared.errors.has(Number(status)))
      .map(([status, response]) => [status, describeAnswer(status, response, operation, declared)])
  )
})

/** The first clause of a description, for an endpoint that has no summary of its own. */
const clauseOf = (description: string) => description.split(/[.;:]/, 1).join("").replaceAll("`", "")

const describe = (operation: Operation, declared: Declared) => {
  const { callers, rateLimit } = declared
  const description = operation.description ?? ""
  return {
    ...operation,
    summary: operation.summary ?? clauseOf(description),
    description: `${description}\n\n${conditionsOf(declared)}`,
    parameters: parametersOf(operation, declared.endpoint),
    security: operation.security.length > 0 ? operation.security : securityOf(declared),
    responses: describeAnswers(operation, declared),
    ...(callers.kind === "caller" ? { "x-required-scope": callers.scope } : {}),
    ...(rateLimit === undefined
      ? {}
      : { "x-rate-limit": { tier: rateLimit.tier, limit: rateLimit.limit, windowSeconds: rateLimit.windowSeconds } })
  }
}

const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)

const shapeOf = (path: string) => path.replace(/\{\w+\}/g, "{}")

/** Paths that differ in the names of their parameters only are one path, so they need one name: that of its GET. */
const sharedPath = (paths: OpenApi.OpenAPISpecPaths, path: string): string => {
  const alike = Object.keys(paths).filter((other) => shapeOf(other) === shapeOf(path))
  return alike.find((other) => paths[other]?.get !== undefined) ?? path
}

const renamed = <O extends { readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string }> }>(
  operation: O,
  from: string,
  to: string
) => {
  const names = new Map(Arr.zip(namesIn(from), namesIn(to)))
  return {
    ...operation,
    parameters: operation.parameters.map((parameter) =>
      parameter.in === "path" ? { ...parameter, name: names.get(parameter.name) ?? parameter.name } : parameter
    )
  }
}

const describePaths = (paths: OpenApi.OpenAPISpecPaths) => {
  const endpoints = declaredEndpoints()
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      const declared = endpoints.get(operation?.operationId ?? "")
      if (operation === undefined || declared === undefined) return []
      const shared = sharedPath(paths, path)
      return [{ path: shared, method, operation: renamed(describe(operation, declared), path, shared) }]
    })
  )
  return Record.map(
    Arr.groupBy(operations, ({ path }) => path),
    (group) => Object.fromEntries(group.map(({ method, operation }) => [method, operation]))
  )
}

const errorSchema = {
  type: "object",
  description: "The one shape of every error, whoever produced it",
  required: ["statusCode", "code", "message"],
  properties: {
    statusCode: { type: "integer" },
    code: { type: "string", enum: [...new Set(Object.values(ERROR_EXAMPLES).map(({ code }) => code))] },
    message: { type: "string" },
    details: { type: "object", description: "What a program can act on" }
  }
}

/** Every error that an operation names, once. */
const errorResponses = (paths: OpenApi.OpenAPISpecPaths) =>
  Object.fromEntries(
    Object.values(paths).flatMap((item) => METHODS.flatMap((method) => Object.entries(item[method]?.responses ?? {})))
      .filter(([status]) => isError(status))
      .map(([status, response]) => {
        const name = errorName(response)
        const example = ERROR_EXAMPLES[name]
        return [name, {
          description: response.description,
          headers: references(errorHeaders(Number(status))),
          content: {
            "application/json": {
              schema: { $ref: `${COMPONENT}Error` },
              ...(example === undefined ? {} : { example })
            }
          }
        }]
      })
  )

const describeSchemas = (schemas: OpenApi.OpenAPIComponents["schemas"]) => ({
  Error: errorSchema,
  ...Object.fromEntries(
    Object.entries(schemas)
      .filter(([name]) => !(name.replace(/Encoded$/, "") in ERROR_EXAMPLES))
      .map(([name, schema]) => [name, name in EXAMPLES ? { ...schema, examples: [EXAMPLES[name]] } : schema])
  )
})

/** Members that a schema does not name are ignored in requests, and may come to answers with a later version. */
const opened = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(opened)
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) =>
      key === "additionalProperties" && member === false ? [] : [[key, opened(member)]]
    )
  )
}

/** The whole contract as an OpenAPI 3.1 document: what Effect derives of the schemas, and what they do not say. */
const describeApi = ({ components, paths, ...spec }: OpenApi.OpenAPISpec) => ({
  ...spec,
  paths: opened(describePaths(paths)),
  components: {
    schemas: opened(describeSchemas(components.schemas)),
    responses: errorResponses(paths),
    headers: HEADERS,
    securitySchemes: SECURITY_SCHEMES
  }
})

/** The contract that the documentation is made of: the same, with all that its declarations say put into words. */
export const DocumentedApi = Api.annotate(
  OpenApi.Transform,
  ({ components, info, openapi, paths, security, servers, tags }) =>
    describeApi({ components, info, openapi, paths, security, servers, tags })
)

/** The OpenAPI document as it is served. */
export const openApiDocument = () => OpenApi.fromApi(DocumentedApi)
