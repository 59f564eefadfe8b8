import { Schema } from "effect"
import { openApiDocument } from "../../src/http/openapi/Document.ts"

const Json = Schema.Record(Schema.String, Schema.Unknown)

const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.Literals(["path", "query", "header"]),
  required: Schema.Boolean,
  description: Schema.optionalKey(Schema.String),
  schema: Json
})

/** A text file has an example that is text, any other file one in Base64. */
const Content = Schema.Record(
  Schema.String,
  Schema.Struct({
    schema: Json,
    example: Schema.optionalKey(Schema.Unknown),
    examples: Schema.optionalKey(Schema.Record(Schema.String, Schema.Struct({ value: Schema.String })))
  })
)

const Answer = Schema.Struct({
  description: Schema.String,
  headers: Schema.optionalKey(Schema.Record(Schema.String, Json)),
  content: Schema.optionalKey(Content)
})

const ErrorContent = Schema.Record(
  Schema.String,
  Schema.Struct({ schema: Json, example: Schema.optionalKey(Json) })
)

const Refusal = Schema.Struct({ ...Answer.fields, content: Schema.optionalKey(ErrorContent) })

const Reference = Schema.Struct({ $ref: Schema.String })

const Operation = Schema.Struct({
  operationId: Schema.String,
  tags: Schema.NonEmptyArray(Schema.String),
  summary: Schema.String,
  description: Schema.String,
  parameters: Schema.Array(Parameter),
  requestBody: Schema.optionalKey(Schema.Struct({ content: Content })),
  security: Schema.Array(Schema.Record(Schema.String, Schema.Array(Schema.String))),
  responses: Schema.Record(Schema.String, Schema.Union([Reference, Answer])),
  "x-rate-limit": Schema.optionalKey(
    Schema.Struct({ tier: Schema.String, limit: Schema.Int, windowSeconds: Schema.Int })
  ),
  "x-required-scope": Schema.optionalKey(Schema.String)
})
export type Operation = typeof Operation.Type

/** The tests and the reference read these parts of the document. */
const Document = Schema.Struct({
  info: Schema.Struct({ title: Schema.String, version: Schema.String, description: Schema.String }),
  tags: Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.String })),
  paths: Schema.Record(Schema.String, Schema.Record(Schema.String, Operation)),
  components: Schema.Struct({
    schemas: Schema.Record(Schema.String, Json),
    responses: Schema.Record(Schema.String, Refusal),
    headers: Schema.Record(Schema.String, Schema.Struct({ description: Schema.String })),
    securitySchemes: Schema.Record(Schema.String, Json)
  })
})

export const served: unknown = openApiDocument()

export const document = Schema.decodeUnknownSync(Document)(served)

export const exampleOf = (name: string): unknown => {
  const examples = document.components.schemas[name]?.["examples"]
  return Array.isArray(examples) ? examples[0] : undefined
}

export const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
)

export const nameOf = (reference: string): string => reference.split("/").at(-1) ?? ""

export type JsonSchema = Readonly<Record<string, unknown>>

export const isSchema = (value: unknown): value is JsonSchema => typeof value === "object" && value !== null

export const typesOf = ({ type }: JsonSchema): ReadonlyArray<string> =>
  (Array.isArray(type) ? type : [type]).map(String)

/** Returns every object of a document that may be a schema: all except examples and conditions. */
export const schemasIn = (value: unknown): ReadonlyArray<JsonSchema> => {
  if (!isSchema(value)) return []
  const inside = Object.entries(value).flatMap(([name, part]) =>
    /^(examples?|if|else|not)$/.test(name) ? [] : schemasIn(part)
  )
  return Array.isArray(value) ? inside : [value, ...inside]
}

export const membersOf = (schema: JsonSchema = {}): ReadonlyMap<string, JsonSchema> =>
  new Map(
    Object.entries(isSchema(schema["properties"]) ? schema["properties"] : {}).flatMap(([name, member]) =>
      isSchema(member) ? [[name, member] as const] : []
    )
  )
