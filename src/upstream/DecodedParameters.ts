/**
 * Effect 4.1 documents parameters by their encoded schemas: `limit` of a list is a string with a pattern, without its
 * bounds. To see it, look for `limit` in `OpenApi.fromApi(Api)`. No version ends this yet: the file goes when the test
 * "has bounds and units of numbers in a query" passes without it.
 */
import { Predicate, Schema } from "effect"
import type { HttpApiEndpoint, OpenApi } from "effect/http-api"

const JsonSchemas = Schema.decodeUnknownSync(
  Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))
)

/** Encoded schemas have no types or bounds. */
const decodedSchemas = (schema: Schema.Top | undefined) =>
  schema === undefined
    ? {}
    : JsonSchemas(Schema.toJsonSchemaDocument(Schema.toType(schema)).schema["properties"])

type JsonObject = Readonly<Record<string, unknown>>

const isText = (schema: unknown): schema is { readonly pattern: string } =>
  Predicate.isObject(schema) && "pattern" in schema && typeof schema.pattern === "string"

const oneText = (schema: JsonObject): JsonObject => {
  const { anyOf } = schema
  return Array.isArray(anyOf) && anyOf.every(isText)
    ? { type: "string", pattern: anyOf.map(({ pattern }) => pattern).join("|") }
    : schema
}

/** Returns true if one text stands for an object, or for a list with commas. */
const isTextOf = (encoded: JsonObject, decoded: JsonObject) =>
  decoded["type"] === "object" || (decoded["type"] === "array" && encoded["type"] === "string")

/** Only the encoded schema of a trimmed text says which characters the text may have. */
const withPattern = (encoded: JsonObject, decoded: JsonObject): JsonObject =>
  decoded["type"] === "string" && !isText(decoded) && isText(encoded)
    ? { ...decoded, pattern: encoded.pattern }
    : decoded

const schemaOf = (encoded: JsonObject, decoded: JsonObject | undefined): JsonObject =>
  decoded === undefined || isTextOf(encoded, decoded) || "anyOf" in decoded
    ? oneText(encoded)
    : withPattern(encoded, decoded)

type Parameter = OpenApi.OpenAPISpecParameter

const describe = (parameter: Parameter, decoded: JsonObject | undefined) => {
  const { description: encodedWords, ...encoded }: JsonObject = { ...parameter.schema }
  const { description = encodedWords, ...schema } = schemaOf(encoded, decoded)
  return { ...parameter, schema, ...(typeof description === "string" ? { description } : {}) }
}

export const decodedParameters = (
  operation: OpenApi.OpenAPISpecOperation,
  endpoint: HttpApiEndpoint.Top,
  pathNames: ReadonlyMap<string, string>,
  headerName: (key: string) => string
) => {
  const decoded: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
    path: decodedSchemas(endpoint.params),
    query: decodedSchemas(endpoint.query),
    header: decodedSchemas(endpoint.headers)
  }
  return operation.parameters.map((parameter) => {
    const described = describe(parameter, decoded[parameter.in]?.[parameter.name])
    if (parameter.in === "header") return { ...described, name: headerName(parameter.name) }
    // An id is a string if a path also accepts other references.
    const name = pathNames.get(parameter.name)
    return parameter.in !== "path" || name === undefined || name === parameter.name
      ? described
      : { ...described, name, schema: oneText({ ...parameter.schema }) }
  })
}
