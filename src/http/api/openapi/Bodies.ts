import { Predicate, Schema } from "effect"
import type { OpenApi } from "effect/http-api"
import { ErrorDetails } from "../../../schema/ErrorDetails.ts"
import { alternatives } from "./Alternatives.ts"
import { withDiscriminator } from "./Discriminators.ts"
import { errorExamples } from "./ErrorExamples.ts"
import { EXAMPLES } from "./Examples.ts"
import { GEOJSON } from "./GeoJsonBodies.ts"
import { BODIES, wordsFor } from "./Glossary.ts"
import { portable } from "./Portable.ts"

const describeMember = (body: string) => ([name, member]: readonly [string, unknown]) => {
  const described = describeMembers(body, member)
  const words = Predicate.isObject(member) && !("$ref" in member) && !("description" in member)
    ? wordsFor(name, body)
    : undefined
  return [
    name,
    Predicate.isObject(described) && words !== undefined ? { ...described, description: words } : described
  ] as const
}

const describeMembers = (body: string, schema: unknown): unknown => {
  if (!Predicate.isObject(schema)) return schema
  const { items, properties } = schema
  return {
    ...schema,
    ...(Predicate.isObject(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).map(describeMember(body))) }
      : {}),
    ...(items === undefined ? {} : { items: describeMembers(body, items) })
  }
}

const referring = (schema: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schema),
    (key, value) => key === "$ref" ? String(value).replace("#/$defs/", "#/components/schemas/") : value
  )

const errorSchema = (examples: ReturnType<typeof errorExamples>) => ({
  type: "object",
  required: ["statusCode", "code", "message"],
  properties: {
    statusCode: { type: "integer", minimum: 400, maximum: 599 },
    code: { type: "string", enum: [...new Set(Object.values(examples).map(({ code }) => code))] },
    message: { type: "string" },
    details: referring(Schema.toJsonSchemaDocument(ErrorDetails).schema)
  }
})

export const describeBodies = (schemas: OpenApi.OpenAPIComponents["schemas"]) => {
  const errors = errorExamples()
  const bodies = Object.entries(schemas).filter(([name]) => !(name.replace(/Encoded$/, "") in errors))
  const all = { Error: errorSchema(errors), ...GEOJSON, ...Object.fromEntries(bodies) }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, schema]) =>
      alternatives(name, withDiscriminator(portable(schema), schemas, "op"))
    ).map(([name, schema]) => {
      const described = describeMembers(name, schema)
      return [name, {
        ...(Predicate.isObject(described) ? described : {}),
        description: BODIES[name],
        ...(name in EXAMPLES ? { examples: [EXAMPLES[name]] } : {})
      }]
    })
  )
}
