import { Predicate } from "effect"

type Schemas = Readonly<Record<string, unknown>>

const refOf = (schema: unknown) => Predicate.hasProperty(schema, "$ref") ? String(schema.$ref) : undefined

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf("/") + 1)

const constantOf = (schema: unknown, member: string): string | undefined => {
  if (!Predicate.hasProperty(schema, "properties") || !Predicate.hasProperty(schema.properties, member)) {
    return undefined
  }
  const value = schema.properties[member]
  return Predicate.hasProperty(value, "enum") && Array.isArray(value.enum) && value.enum.length === 1
    ? String(value.enum[0])
    : undefined
}

/** Generators tell the alternatives of a union by a member that each has with another value. */
export const withDiscriminator = (schema: unknown, schemas: Schemas, member: string): unknown => {
  if (!Predicate.hasProperty(schema, "anyOf") || !Array.isArray(schema.anyOf)) return schema
  const { anyOf, ...rest } = schema
  const mapping = anyOf.flatMap((choice) => {
    const ref = refOf(choice)
    const value = ref === undefined ? undefined : constantOf(schemas[nameOf(ref)], member)
    return value === undefined ? [] : [[value, ref] as const]
  })
  if (mapping.length < anyOf.length) return schema
  return { ...rest, oneOf: anyOf, discriminator: { propertyName: member, mapping: Object.fromEntries(mapping) } }
}
