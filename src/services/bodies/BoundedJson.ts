import { Function, Number, Option, Predicate, Result, Schema } from "effect"
import { NOT_UTF8, type ValidationIssue } from "../../schema/Issues.ts"
import { JSON_LIMITS } from "../../schema/Limits.ts"
import { issueCollector } from "./IssueCollector.ts"
import { excessOf } from "./JsonScanner.ts"

type Refusable<A> = Result.Result<A, ReadonlyArray<ValidationIssue>>

const notUtf8: ReadonlyArray<ValidationIssue> = [{ path: "", message: NOT_UTF8 }]

const NOT_JSON: ReadonlyArray<ValidationIssue> = [{ path: "", message: "Expected valid JSON" }]

const parse = (text: string): Refusable<unknown> => Result.try({ try: () => JSON.parse(text), catch: () => NOT_JSON })

export const refusalsBy = (schema: Schema.Constraint) => {
  const collect = issueCollector(schema)
  return (text: string): ReadonlyArray<ValidationIssue> =>
    Result.match(parse(text), { onSuccess: collect, onFailure: (issues) => issues })
}

type JsonSchema = Readonly<Record<string, unknown>>

const schemasIn = (parts: unknown): ReadonlyArray<JsonSchema> =>
  Object.values(parts ?? {}).filter(Predicate.isReadonlyObject)

/** Counts the values that a schema has room for, by its JSON Schema. A schema inside itself counts once. */
const roomIn = (definitions: JsonSchema, schema: JsonSchema, open: ReadonlyArray<string> = []): number => {
  const { $ref, allOf, anyOf, items, maxItems, oneOf, prefixItems, properties } = schema
  if (typeof $ref === "string") {
    const name = $ref.slice($ref.lastIndexOf("/") + 1)
    const definition = definitions[name]
    const isOpen = open.includes(name) || !Predicate.isReadonlyObject(definition)
    return isOpen ? 0 : roomIn(definitions, definition, [...open, name])
  }
  const roomsIn = (parts: unknown) => schemasIn(parts).map((part) => roomIn(definitions, part, open))
  const tuple = roomsIn(prefixItems)
  const rest = typeof maxItems === "number" ? Math.max(0, maxItems - tuple.length) : 0
  const inside = Number.sumAll([...tuple, ...roomsIn(properties), ...roomsIn([items]).map((room) => rest * room)])
  return Math.max(1 + inside, ...[allOf, anyOf, oneOf].flatMap(roomsIn))
}

export const maxValuesOf = (schema: Schema.Constraint): number => {
  const document = Schema.toJsonSchemaDocument(schema)
  return roomIn(document.definitions, document.schema) + JSON_LIMITS.spareValues
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decodeUtf8 = Option.liftThrowable((bytes: ArrayBuffer | Uint8Array) => utf8.decode(bytes))

/** Checks limits before parsing. `taken` values, which were removed from the text before, count. */
export const decodeBounded = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  // The decoder is built for the first text, since most threads do not read all kinds.
  const toolsOf = Function.memoize((schema: S) => ({
    maxValues: maxValuesOf(schema),
    decode: Schema.decodeUnknownResult(schema),
    issuesOf: issueCollector(schema)
  }))
  return (text: Buffer, taken = 0): Refusable<S["Type"]> => {
    const { decode, issuesOf, maxValues } = toolsOf(schema)
    const excess = excessOf(text, { depth: JSON_LIMITS.depth, values: maxValues - taken })
    if (excess !== undefined) return Result.fail([excess])
    return Result.fromOption(decodeUtf8(text), () => notUtf8).pipe(
      Result.flatMap(parse),
      Result.flatMap((value) => Result.mapError(decode(value), () => issuesOf(value)))
    )
  }
}
