import { Schema } from "effect"
import type { HttpApiEndpoint, OpenApi } from "effect/http-api"

const JsonSchemas = Schema.decodeUnknownSync(
  Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))
)

/** The schemas of parameters as they are once decoded: on the wire each one is a string, which tells nobody anything. */
const decodedSchemas = (schema: Schema.Top | undefined) =>
  schema === undefined
    ? {}
    : JsonSchemas(Schema.toJsonSchemaDocument(Schema.toType(schema)).schema["properties"])

const schemaOf = (parameter: OpenApi.OpenAPISpecParameter, decoded: Readonly<Record<string, unknown>> | undefined) =>
  decoded === undefined || decoded["type"] === "object" ? { ...parameter.schema } : decoded

const describe = (
  parameter: OpenApi.OpenAPISpecParameter,
  decoded: Readonly<Record<string, unknown>> | undefined
) => {
  const { description, ...schema } = { description: undefined, ...schemaOf(parameter, decoded) }
  return { ...parameter, schema, ...(description === undefined ? {} : { description }) }
}

/** The parameters of an operation with their units, bounds and meaning. */
export const parametersOf = (operation: OpenApi.OpenAPISpecOperation, endpoint: HttpApiEndpoint.Top) => {
  const decoded: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>> = {
    path: decodedSchemas(endpoint.params),
    query: decodedSchemas(endpoint.query),
    header: decodedSchemas(endpoint.headers)
  }
  return operation.parameters.map((parameter) => describe(parameter, decoded[parameter.in]?.[parameter.name]))
}
