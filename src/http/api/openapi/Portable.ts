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
