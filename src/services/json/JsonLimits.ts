import { Predicate, Schema } from "effect"
import { JSON_LIMITS } from "../../schema/Limits.ts"

export interface JsonLimits {
  readonly maxItems: number
  readonly items: JsonLimits | undefined
  readonly tuple: ReadonlyArray<JsonLimits | undefined>
  readonly members: ReadonlyMap<string, JsonLimits>
}

export interface TextLimits {
  readonly root: JsonLimits | undefined
  readonly maxValues: number
  readonly maxDepth?: number
}

type JsonSchema = Readonly<Record<string, unknown>>

const schemasOf = (value: unknown): ReadonlyArray<JsonSchema> =>
  Array.isArray(value) ? value.filter(Predicate.isReadonlyObject) : []

const membersOf = (value: unknown) =>
  Predicate.isReadonlyObject(value)
    ? Object.entries(value).flatMap(([name, member]) =>
      Predicate.isReadonlyObject(member) ? [[name, member] as const] : []
    )
    : []

/** A value may have what either of two schemas allows. */
const either = (a: JsonLimits | undefined, b: JsonLimits | undefined): JsonLimits | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  const length = Math.max(a.tuple.length, b.tuple.length)
  const names = new Set([...a.members.keys(), ...b.members.keys()])
  return {
    maxItems: Math.max(a.maxItems, b.maxItems),
    items: either(a.items, b.items),
    tuple: Array.from({ length }, (_, index) => either(a.tuple[index] ?? a.items, b.tuple[index] ?? b.items)),
    members: new Map([...names].flatMap((name) => {
      const limits = either(a.members.get(name), b.members.get(name))
      return limits === undefined ? [] : [[name, limits] as const]
    }))
  }
}

/** A schema inside itself has no limits of its own. */
class SchemaReader {
  private readonly definitions: JsonSchema
  private readonly open = new Set<string>()

  constructor(definitions: JsonSchema) {
    this.definitions = definitions
  }

  limitsOf(schema: JsonSchema): JsonLimits | undefined {
    return this.read(schema, undefined, (schema) => {
      const choices = [...schemasOf(schema["anyOf"]), ...schemasOf(schema["oneOf"]), ...schemasOf(schema["allOf"])]
      return choices.map((choice) => this.limitsOf(choice)).reduce(either, this.ownLimits(schema))
    })
  }

  valuesOf(schema: JsonSchema): number {
    return this.read(schema, 0, (schema) => {
      const choices = [...schemasOf(schema["anyOf"]), ...schemasOf(schema["oneOf"]), ...schemasOf(schema["allOf"])]
      const items = Predicate.isReadonlyObject(schema["items"]) ? this.valuesOf(schema["items"]) : 0
      const maxItems = typeof schema["maxItems"] === "number" ? schema["maxItems"] : 0
      const tuple = schemasOf(schema["prefixItems"])
      const members = membersOf(schema["properties"]).map(([, member]) => member)
      const inside = [...tuple, ...members].reduce((sum, part) => sum + this.valuesOf(part), 0)
      return Math.max(
        1 + inside + Math.max(0, maxItems - tuple.length) * items,
        ...choices.map((choice) => this.valuesOf(choice))
      )
    })
  }

  private ownLimits(schema: JsonSchema): JsonLimits | undefined {
    const members = membersOf(schema["properties"]).flatMap(([name, member]) => {
      const limits = this.limitsOf(member)
      return limits === undefined ? [] : [[name, limits] as const]
    })
    if (schema["type"] !== "array" && members.length === 0) return undefined
    return {
      maxItems: typeof schema["maxItems"] === "number" ? schema["maxItems"] : Infinity,
      items: Predicate.isReadonlyObject(schema["items"]) ? this.limitsOf(schema["items"]) : undefined,
      tuple: schemasOf(schema["prefixItems"]).map((item) => this.limitsOf(item)),
      members: new Map(members)
    }
  }

  private read<A>(schema: JsonSchema, inside: A, of: (schema: JsonSchema) => A): A {
    const reference = schema["$ref"]
    if (typeof reference !== "string") return of(schema)
    const name = reference.slice(reference.lastIndexOf("/") + 1)
    const definition = this.definitions[name]
    if (this.open.has(name) || !Predicate.isReadonlyObject(definition)) return inside
    this.open.add(name)
    const result = of(definition)
    this.open.delete(name)
    return result
  }
}

/** Reads `isMaxLength` of arrays from the JSON Schema that OpenAPI shows. */
export const limitsOf = (schema: Schema.Constraint): TextLimits => {
  const document = Schema.toJsonSchemaDocument(schema)
  const reader = new SchemaReader(document.definitions)
  return {
    root: reader.limitsOf(document.schema),
    maxValues: reader.valuesOf(document.schema) + JSON_LIMITS.spareValues
  }
}
