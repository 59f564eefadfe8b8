/**
 * Generators of clients need other schemas than Effect makes: `checks/clients/run.sh` generates, compiles and runs such
 * clients, and names the versions.
 *
 * - openapi-generator 7.26 (Go, Java, Python) maps a number without a format to `float`, requires `items` beside
 *   `prefixItems`, maps an enumeration of `true` to strings, makes a class of `anyOf` with null, and, except in Dart,
 *   ignores `properties` beside `oneOf`. It and oapi-codegen 2.8 tell the choices of a union by a discriminator only.
 * - Effect 4.1 has `allOf` if two checks set the same constraint or a member has its own description, and closes
 *   objects, which clients would then refuse when a later version adds a member.
 *
 * To see one of them, return the schema as it is from the function of that step and run the checks. No version of the
 * generators ends this yet: a step goes when the checks pass without it.
 */
import { Predicate } from "effect"

type JsonObject = Readonly<Record<string, unknown>>

const MAX_INT32 = 2 ** 31 - 1

const without = (object: JsonObject, ...names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

const integer = (schema: JsonObject): JsonObject => {
  const isBounded = schema["minimum"] !== Number.MIN_SAFE_INTEGER
  const isShort = typeof schema["maximum"] === "number" && schema["maximum"] <= MAX_INT32
  return { ...(isBounded ? schema : without(schema, "minimum", "maximum")), format: isShort ? "int32" : "int64" }
}

/** Generators map other numbers to `float`, which loses digits of coordinates. */
const withFormat = (schema: JsonObject): JsonObject => {
  if (schema["type"] === "integer") return integer(schema)
  return schema["type"] === "number" ? { format: "double", ...schema } : schema
}

/** Generators require `items`, even beside `prefixItems`. */
const withItems = (schema: JsonObject): JsonObject =>
  schema["type"] === "array" && schema["items"] === undefined && Array.isArray(schema["prefixItems"])
    ? { ...schema, items: { type: "number", format: "double" } }
    : schema

/** Generators map an enumeration of `true` to strings. */
const withoutFlags = (schema: JsonObject): JsonObject => schema["type"] === "boolean" ? without(schema, "enum") : schema

const isNull = (schema: unknown) => Predicate.isObject(schema) && "type" in schema && schema.type === "null"

const isPlain = (schema: unknown): schema is JsonObject =>
  Predicate.isObject(schema) && "type" in schema && typeof schema.type === "string"

/** Generators make a class of `anyOf` with null, but not of a type list. */
const withNull = ({ anyOf, ...schema }: JsonObject): JsonObject => {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return anyOf === undefined ? schema : { ...schema, anyOf }
  const [value, nothing] = anyOf
  if (!isPlain(value) || !isNull(nothing)) return { ...schema, anyOf }
  const values = Array.isArray(value["enum"]) ? { enum: [...value["enum"], null] } : {}
  return { ...value, ...values, ...schema, type: [value["type"], "null"] }
}

const STRICTER: Readonly<Record<string, (a: number, b: number) => number>> = {
  maxItems: Math.min,
  maxLength: Math.min,
  maximum: Math.min,
  minItems: Math.max,
  minLength: Math.max,
  minimum: Math.max
}

const merged = (schema: JsonObject, fact: JsonObject): JsonObject =>
  Object.fromEntries([
    ...Object.entries(schema),
    ...Object.entries(fact).map(([name, value]) => {
      const own = schema[name]
      const both = typeof own === "number" && typeof value === "number" ? STRICTER[name]?.(own, value) : undefined
      return [name, both ?? value] as const
    })
  ])

const isFactOf = (type: unknown) => (schema: unknown): schema is JsonObject =>
  Predicate.isObject(schema) && !("$ref" in schema) && (!("type" in schema) || schema.type === type)

/** Effect uses `allOf` if two checks set the same constraint. */
const withFacts = ({ allOf, ...schema }: JsonObject): JsonObject => {
  if (!Array.isArray(allOf)) return schema
  const isFact = isFactOf(schema["type"])
  const schemas = allOf.filter((part) => !isFact(part))
  const all = allOf.filter(isFact).reduce(merged, schema)
  return schemas.length === 0 ? all : { ...all, allOf: schemas }
}

const isConstraint = (schema: unknown) => Predicate.isObject(schema) && Object.keys(schema).length > 0

const isLeftOut = (name: string, value: unknown) =>
  name.startsWith("x-effect-") || (name === "additionalProperties" && !isConstraint(value))

/** Objects stay open: requests ignore unknown members, and later versions may add members to responses. */
export const portable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(portable)
  if (!Predicate.isObject(value)) return value
  const members = Object.entries(value).flatMap(([name, member]) =>
    isLeftOut(name, member)
      ? []
      : [[name, name === "examples" || name === "example" ? member : portable(member)] as const]
  )
  return withFormat(withItems(withoutFlags(withNull(withFacts(Object.fromEntries(members))))))
}

/** Returns the members of which exactly one is present (`oneOfMembers`). */
const exclusiveMembers = ({ oneOf }: JsonObject): ReadonlyArray<string> =>
  Array.isArray(oneOf)
    ? oneOf.flatMap((choice) =>
      Predicate.isObject(choice) && Array.isArray(choice["required"]) ? choice["required"].map(String) : []
    )
    : []

const withoutNull = (schema: unknown) =>
  Predicate.isObject(schema) && Array.isArray(schema["type"]) ? { ...schema, type: schema["type"][0] } : schema

const capital = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

const examplesWith = (member: string, examples: unknown) =>
  Array.isArray(examples)
    ? { examples: examples.filter((example) => Predicate.hasProperty(example, member)) }
    : {}

/** Generators ignore `properties` beside `oneOf`, so bodies become `TraceRequestByShape` and so on. */
const alternatives = (name: string, schema: unknown): ReadonlyArray<readonly [string, unknown]> => {
  const exclusive = Predicate.isObject(schema) ? exclusiveMembers(schema) : []
  if (!Predicate.isObject(schema) || !Predicate.isObject(schema["properties"]) || exclusive.length === 0) {
    return [[name, schema]]
  }
  const { description, examples, oneOf: _, properties, required = [], ...rest } = schema
  const members = Object.entries(Predicate.isObject(properties) ? properties : {})
  const choices = exclusive.map((chosen) =>
    [`${name}By${capital(chosen)}`, {
      ...rest,
      description: `${String(description)} This one has \`${chosen}\`.`,
      ...examplesWith(chosen, examples),
      required: [...(Array.isArray(required) ? required : []), chosen],
      properties: Object.fromEntries(
        members.flatMap(([member, schema]) => {
          if (member === chosen) return [[member, withoutNull(schema)]]
          return exclusive.includes(member) ? [] : [[member, schema]]
        })
      )
    }] as const
  )
  const references = choices.map(([choice]) => ({ $ref: `#/components/schemas/${choice}` }))
  return [[name, { description, examples, oneOf: references }], ...choices]
}

type Schemas = JsonObject

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

const propertiesOf = (schema: unknown): JsonObject =>
  Predicate.hasProperty(schema, "properties") && Predicate.isObject(schema.properties) ? { ...schema.properties } : {}

/** Returns the schema of a member that several alternatives have: any of its schemas if these have names. */
const either = (one: unknown, other: unknown, member: string): unknown => {
  const choices = Predicate.hasProperty(one, "anyOf") && Array.isArray(one.anyOf) ? one.anyOf : [one]
  const refs = new Set([...choices, other].map(refOf))
  if (refs.size === 1 || refs.has(undefined)) return other
  return { description: `By \`${member}\` one of these`, anyOf: [...refs].map(($ref) => ({ $ref })) }
}

const membersOf = (alternatives: ReadonlyArray<JsonObject>, member: string): JsonObject => {
  const members = new Map<string, unknown>()
  for (const [name, schema] of alternatives.flatMap((alternative) => Object.entries(alternative))) {
    members.set(name, either(members.get(name), schema, member))
  }
  return Object.fromEntries(members)
}

/**
 * Generators tell the alternatives of a union by a member that has another value in each. The generator for Dart makes
 * one class of all alternatives, which would require the members of each, were they not beside `oneOf`.
 */
const withDiscriminator = (schema: unknown, schemas: Schemas, member: string): unknown => {
  if (!Predicate.hasProperty(schema, "anyOf") || !Array.isArray(schema.anyOf)) return schema
  const { anyOf, ...rest } = schema
  const choices = anyOf.flatMap((choice) => {
    const ref = refOf(choice)
    const variant = ref === undefined ? undefined : schemas[nameOf(ref)]
    const value = constantOf(variant, member)
    return ref === undefined || value === undefined ? [] : [{ ref, value, properties: propertiesOf(variant) }]
  })
  if (choices.length < anyOf.length) return schema
  const values = choices.map(({ value }) => value)
  const members = membersOf(choices.map(({ properties }) => properties), member)
  return {
    ...rest,
    type: "object",
    required: [member],
    properties: portable({ ...members, [member]: { ...Object(members[member]), enum: values } }),
    oneOf: anyOf,
    discriminator: {
      propertyName: member,
      mapping: Object.fromEntries(choices.map(({ ref, value }) => [value, ref]))
    }
  }
}

/** Returns the components of a document by name, in the form of generators. `member` tells the choices of a union. */
export const portableSchemas = (schemas: Schemas, member: string): JsonObject =>
  Object.fromEntries(
    Object.entries(schemas).flatMap(([name, schema]) =>
      alternatives(name, withDiscriminator(portable(schema), schemas, member))
    )
  )
