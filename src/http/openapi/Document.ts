import { Array as Arr, Predicate, Record } from "effect"
import { OpenApi } from "effect/http-api"
import { MEDIA_TYPES } from "../../schema/MediaTypes.ts"
import { SERVICE_TITLE } from "../../schema/ServiceName.ts"
import { decodedParameters } from "../../upstream/DecodedParameters.ts"
import { portable } from "../../upstream/PortableSchemas.ts"
import { Api } from "../api/Api.ts"
import { headerName, HEADERS } from "../api/Headers.ts"
import { IF_NONE_MATCH_WORDS } from "../api/Requests.ts"
import { describeBodies, errorExamples, fileExampleOf } from "./Bodies.ts"
import { conditionsOf, SECURITY_SCHEMES, securityOf } from "./Conditions.ts"
import { type Declared, declaredEndpoints } from "./Declared.ts"
import { withEnumerations } from "./Enumerations.ts"
import {
  errorHeaders,
  HEADER_COMPONENTS,
  isTagged,
  notModifiedHeaders,
  references,
  responseHeaders
} from "./Headers.ts"

type Operation = OpenApi.OpenAPISpecOperation
type Response = OpenApi.OpenApiSpecResponse

/** Linters require a contact. */
const CONTACT = { name: "The operator of this service" }

/** The interactive page calls the server that it was loaded from. */
const RELATIVE = "/"

/** These responses have no schema. */
const MEDIA: Readonly<Record<string, string>> = {
  [MEDIA_TYPES.geojson]: "The route as GeoJSON (RFC 7946).",
  [MEDIA_TYPES.gpx]: "The route as GPX 1.1.",
  [MEDIA_TYPES.fit]: "The route as a FIT course.",
  [MEDIA_TYPES.tcx]: "The route as TCX.",
  [MEDIA_TYPES.kml]: "The route as KML 2.2.",
  [MEDIA_TYPES.svg]: "The picture as SVG.",
  [MEDIA_TYPES.png]: "The picture as PNG.",
  [MEDIA_TYPES.zip]: "The archive.",
  [MEDIA_TYPES.metrics]: "The figures in Prometheus' text format."
}

const METHODS = ["get", "put", "post", "patch", "delete"] as const

const COMPONENT = "#/components/schemas/"

const errorName = ({ content }: Response): string =>
  String(content?.[MEDIA_TYPES.json]?.schema["$ref"]).replace(COMPONENT, "").replace(/Encoded$/, "")

const IF_NONE_MATCH = {
  name: HEADERS.ifNoneMatch.key,
  in: "header",
  required: false,
  schema: { type: "string" },
  description: IF_NONE_MATCH_WORDS
} as const

const isError = (status: string) => Number(status) >= 400

const notModified = (declared: Declared) => ({
  description: "It is still what the client has.",
  headers: references(notModifiedHeaders(declared))
})

const nameIn = (schema: unknown) => /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(schema) ?? "")?.[1] ?? ""

type Bodies = ReturnType<typeof describeBodies>

const descriptionOf = (body: unknown) =>
  Predicate.hasProperty(body, "description") ? String(body.description) : undefined

const wordsOf = ({ content = {}, description }: Response, bodies: Bodies): string => {
  const [[type, { schema }] = ["", { schema: {} }]] = Object.entries(content)
  const body = descriptionOf(bodies[nameIn(schema)])
  if (body === undefined) return MEDIA[type] ?? description
  return "items" in schema ? `One page. Each item: ${body}` : body
}

/** GeoJSON is text to the handler, but JSON to a client. */
const withObjects = (content: OpenApi.OpenApiSpecContent = {}) =>
  Record.map(
    content,
    (media, type) =>
      type === MEDIA_TYPES.geojson
        ? { schema: { $ref: `${COMPONENT}FeatureCollection` } }
        : { ...fileExampleOf(type), ...media }
  )

const describeResponse = (
  status: string,
  response: Response,
  operation: Operation,
  declared: Declared,
  bodies: Bodies
) =>
  isError(status)
    ? { $ref: `#/components/responses/${errorName(response)}` }
    : {
      ...response,
      description: wordsOf(response, bodies),
      ...(response.content === undefined ? {} : { content: withObjects(response.content) }),
      headers: { ...references(responseHeaders(Number(status), response, operation, declared)), ...response.headers }
    }

const exampleOf = (body: unknown) =>
  Predicate.hasProperty(body, "examples") && Array.isArray(body.examples) ? { example: body.examples[0] } : {}

/** Programs that try requests fill in the example of a body, not that of its schema. */
const withExample = ({ requestBody }: Operation, bodies: Bodies) =>
  requestBody === undefined
    ? {}
    : {
      requestBody: {
        ...requestBody,
        content: Record.map(requestBody.content, (media, type) => ({
          ...exampleOf(bodies[nameIn(media.schema)]),
          ...fileExampleOf(type),
          ...media
        }))
      }
    }

const isConditional = (operation: Operation, declared: Declared) => {
  const response = operation.responses[200]
  return declared.endpoint.method === "GET" && response !== undefined && isTagged(response, operation, declared)
}

/** The handlers of lists and files do not read `If-None-Match`: a middleware compares the tags of their responses. */
const withCondition = (operation: Operation, declared: Declared): Operation =>
  isConditional(operation, declared) && !operation.parameters.some(({ name }) => name === HEADERS.ifNoneMatch.key)
    ? { ...operation, parameters: [...operation.parameters, IF_NONE_MATCH] }
    : operation

const describeResponses = (operation: Operation, declared: Declared, bodies: Bodies) => ({
  ...(isConditional(operation, declared) ? { 304: notModified(declared) } : {}),
  ...Object.fromEntries(
    Object.entries(operation.responses)
      .filter(([status]) => !isError(status) || declared.errors.has(Number(status)))
      .map(([status, response]) => [status, describeResponse(status, response, operation, declared, bodies)])
  )
})

const describe = (
  given: Operation,
  declared: Declared,
  pathNames: ReadonlyMap<string, string>,
  bodies: Bodies
) => {
  const { callers, rateLimit } = declared
  const operation = withCondition(given, declared)
  return {
    ...operation,
    description: `${operation.description ?? ""}\n\n${conditionsOf(declared)}`,
    parameters: decodedParameters(operation, declared.endpoint, pathNames, headerName),
    security: operation.security.length > 0 ? operation.security : securityOf(declared),
    ...withExample(operation, bodies),
    responses: describeResponses(operation, declared, bodies),
    ...(callers.kind === "caller" ? { "x-required-scope": callers.scope } : {}),
    ...(rateLimit === undefined
      ? {}
      : { "x-rate-limit": { tier: rateLimit.tier, limit: rateLimit.limit, windowSeconds: rateLimit.windowSeconds } })
  }
}

const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)

const shapeOf = (path: string) => path.replace(/\{\w+\}/g, "{}")

/** OpenAPI forbids paths that differ only in parameter names. */
const sharedPath = (paths: OpenApi.OpenAPISpecPaths, path: string): string => {
  const alike = Object.keys(paths).filter((other) => shapeOf(other) === shapeOf(path))
  return alike.find((other) => paths[other]?.get !== undefined) ?? path
}

const describePaths = (paths: OpenApi.OpenAPISpecPaths, bodies: Bodies) => {
  const endpoints = declaredEndpoints()
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      const declared = endpoints.get(operation?.operationId ?? "")
      if (operation === undefined || declared === undefined) return []
      const shared = sharedPath(paths, path)
      const names = new Map(Arr.zip(namesIn(path), namesIn(shared)))
      return [{ path: shared, method, operation: describe(operation, declared, names, bodies) }]
    })
  )
  return Record.map(
    Arr.groupBy(operations, ({ path }) => path),
    (group) => Object.fromEntries(group.map(({ method, operation }) => [method, operation]))
  )
}

const errorResponses = (paths: OpenApi.OpenAPISpecPaths) => {
  const examples = errorExamples()
  return Object.fromEntries(
    Object.values(paths).flatMap((item) => METHODS.flatMap((method) => Object.entries(item[method]?.responses ?? {})))
      .filter(([status]) => isError(status))
      .map(([status, response]) => {
        const name = errorName(response)
        const example = examples[name]
        return [name, {
          description: response.description,
          headers: references(errorHeaders(Number(status))),
          content: {
            [MEDIA_TYPES.json]: {
              schema: { $ref: `${COMPONENT}ErrorBody` },
              ...(example === undefined ? {} : { example })
            }
          }
        }]
      })
  )
}

const describeApi = ({ components, info, paths, ...spec }: OpenApi.OpenAPISpec) => {
  const bodies = describeBodies(components.schemas)
  return {
    ...spec,
    info: { ...info, contact: CONTACT },
    paths: withEnumerations(portable(describePaths(paths, bodies))),
    components: {
      schemas: bodies,
      responses: errorResponses(paths),
      headers: portable(HEADER_COMPONENTS),
      securitySchemes: SECURITY_SCHEMES
    }
  }
}

const DocumentedApi = Api.annotate(
  OpenApi.Transform,
  ({ components, info, openapi, paths, security, servers, tags }) =>
    describeApi({ components, info, openapi, paths, security, servers, tags })
)

export const titledApi = (title: string) => DocumentedApi.annotate(OpenApi.Title, title)

export const openApiDocument = (address: string = RELATIVE, title = SERVICE_TITLE) =>
  OpenApi.fromApi(titledApi(title).annotate(OpenApi.Servers, [{ url: address, description: "This service" }]))
