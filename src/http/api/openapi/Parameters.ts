import { Predicate, Schema } from "effect"
import type { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { headerName } from "../Headers.ts"
import { wordsFor } from "./Glossary.ts"

const JsonSchemas = Schema.decodeUnknownSync(
  Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))
)

/** The schemas of parameters as they are once decoded: on the wire each one is a string, which says nothing. */
const decodedSchemas = (schema: Schema.Top | undefined) =>
  schema === undefined
    ? {}
    : JsonSchemas(Schema.toJsonSchemaDocument(Schema.toType(schema)).schema["properties"])

type JsonObject = Readonly<Record<string, unknown>>

const isText = (schema: unknown): schema is { readonly pattern: string } =>
  Predicate.isObject(schema) && "pattern" in schema && typeof schema.pattern === "string"

/** Texts of different forms are one text with the pattern of each. */
const oneText = (schema: JsonObject): JsonObject => {
  const { anyOf } = schema
  return Array.isArray(anyOf) && anyOf.every(isText)
    ? { type: "string", pattern: anyOf.map(({ pattern }) => pattern).join("|") }
    : schema
}

/** As it is once decoded where that is a number, and as it is on the wire where that says more. */
const schemaOf = (parameter: Parameter, decoded: JsonObject | undefined): JsonObject =>
  decoded === undefined || decoded["type"] === "object" || "anyOf" in decoded
    ? oneText({ ...parameter.schema })
    : decoded

type Parameter = OpenApi.OpenAPISpecParameter

const describe = (parameter: Parameter, decoded: JsonObject | undefined) => {
  const { description, ...schema } = { description: wordsFor(parameter.name), ...schemaOf(parameter, decoded) }
  return { ...parameter, schema, ...(description === undefined ? {} : { description }) }
}

/** In a path that names something by its id or otherwise, an id is a text too. */
const inPath = (parameter: Parameter, name: string) =>
  name === parameter.name
    ? undefined
    : { ...parameter, name, schema: oneText({ ...parameter.schema }), description: wordsFor("id") }

/**
 * The parameters of an operation with their units, bounds and meaning; those in its path by the names that it is shared
 * under.
 */
export const parametersOf = (
  operation: OpenApi.OpenAPISpecOperation,
  endpoint: HttpApiEndpoint.Top,
  pathNames: ReadonlyMap<string, string>
) => {
  const decoded: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
    path: decodedSchemas(endpoint.params),
    query: decodedSchemas(endpoint.query),
    header: decodedSchemas(endpoint.headers)
  }
  return operation.parameters.map((parameter) => {
    const described = describe(parameter, decoded[parameter.in]?.[parameter.name])
    if (parameter.in === "header") return { ...described, name: headerName(parameter.name) }
    if (parameter.in !== "path") return described
    return inPath(parameter, pathNames.get(parameter.name) ?? parameter.name) ?? described
  })
}
