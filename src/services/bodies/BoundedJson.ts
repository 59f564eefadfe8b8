import {
  Function,
  Iterable,
  Number,
  Option,
  Predicate,
  Result,
  Schema,
  SchemaAST,
  type SchemaIssue,
  SchemaParser
} from "effect"
import leven from "leven"
import { createHash } from "node:crypto"
import { formatIssue, MAX_ISSUES, NOT_UTF8, type ValidationIssue } from "../../schema/Issues.ts"
import { JSON_LIMITS } from "../../schema/Limits.ts"
import { HeavyJob } from "../admission/HeavyJob.ts"
import { excessOf } from "./JsonScanner.ts"

type Key = string | number

type JsonObject = Readonly<Record<PropertyKey, unknown>>

interface Part {
  readonly ast: SchemaAST.AST
  readonly value: unknown
  readonly path: ReadonlyArray<Key>
}

type Decode = (value: unknown) => Result.Result<unknown, SchemaIssue.Issue>

const compile = (ast: SchemaAST.AST, errors: "first" | "all"): Decode =>
  SchemaParser.decodeUnknownResult(Schema.make<Schema.Decoder<unknown>>(ast), { errors })

const decodersOf = Function.memoize((ast: SchemaAST.AST) => ({
  first: compile(ast, "first"),
  all: compile(ast, "all")
}))

const memberSchema = Function.memoize((signature: SchemaAST.PropertySignature) =>
  new SchemaAST.Objects([signature], [])
)

const isRefused = ({ ast, value }: Part): boolean => Result.isFailure(decodersOf(ast).first(value))

const below = (path: ReadonlyArray<Key>, { message, path: inside }: ValidationIssue): ValidationIssue => ({
  path: [...path, ...(inside === "" ? [] : [inside])].join("."),
  message
})

const issuesOfWhole = ({ ast, path, value }: Part): ReadonlyArray<ValidationIssue> =>
  Result.match(decodersOf(ast).all(value), {
    onSuccess: () => [],
    onFailure: (issue) => formatIssue(issue).map((inside) => below(path, inside))
  })

/** Puts a part of a body, and its place there, before the path of an issue in that part. */
export const issueBelow = (place: string) => ({ message, path }: ValidationIssue): ValidationIssue => ({
  path: path === "" ? place : `${place}.${path}`,
  message
})

const onlyOf = ({ types }: SchemaAST.Union): SchemaAST.AST | undefined => {
  const others = types.filter((type) => !SchemaAST.isNull(type))
  return others.length === 1 ? others[0] : undefined
}

const maxItemsOf = ({ checks }: SchemaAST.Arrays): number =>
  Math.min(...(checks ?? []).map(({ annotations }) => {
    const payload = annotations?.representation?.payload
    return Predicate.hasProperty(payload, "maxLength") && Predicate.isNumber(payload.maxLength)
      ? payload.maxLength
      : Infinity
  }))

/** Yields the issues of the parts, else of the whole; decodes nothing after the last issue that is taken. */
function* issuesIn(part: Part, whole: Part = part): Generator<ValidationIssue> {
  const inside = issuesInside(part)
  const first = inside.next()
  if (first.done === true) {
    if (isRefused(whole)) yield* issuesOfWhole(whole)
    return
  }
  yield first.value
  yield* inside
}

function* issuesInside({ ast, path, value }: Part): Generator<ValidationIssue> {
  // A transformed value must match its encoded schema first.
  const own = ast.encoding?.at(-1)?.to
  if (own !== undefined) {
    yield* issuesInside({ ast: own, path, value })
  } else if (SchemaAST.isUnion(ast)) {
    const only = onlyOf(ast)
    if (only !== undefined && value !== null) yield* issuesInside({ ast: only, path, value })
  } else if (
    SchemaAST.isArrays(ast) && ast.elements.length === 0 && ast.rest[0] !== undefined && Array.isArray(value)
  ) {
    const item = ast.rest[0]
    const most = maxItemsOf(ast)
    if (value.length > most) return yield below(path, { path: "", message: `Expected at most ${most} items` })
    const { first } = decodersOf(item)
    for (const [index, inside] of value.entries()) {
      if (Result.isFailure(first(inside))) yield* issuesIn({ ast: item, path: [...path, index], value: inside })
    }
  } else if (SchemaAST.isObjects(ast) && ast.indexSignatures.length === 0 && Predicate.isReadonlyObject(value)) {
    for (const signature of ast.propertySignatures) yield* issuesOfMember(signature, path, value)
  }
}

const issuesOfMember = (
  signature: SchemaAST.PropertySignature,
  path: ReadonlyArray<Key>,
  object: JsonObject
): Generator<ValidationIssue> => {
  const { name, type } = signature
  const member = Object.hasOwn(object, name) ? { [name]: object[name] } : {}
  const alone = { ast: memberSchema(signature), value: member, path }
  return issuesIn({ ast: type, path: [...path, String(name)], value: object[name] }, alone)
}

/** Returns the first issues; `errors: "all"` would collect those of 50,000 invalid items before any limit. */
const issueCollector = (schema: Schema.Constraint) => (value: unknown): ReadonlyArray<ValidationIssue> => [
  ...Iterable.take(issuesIn({ ast: schema.ast, path: [], value }), MAX_ISSUES)
]

type Refusable<A> = Result.Result<A, ReadonlyArray<ValidationIssue>>

const notUtf8: ReadonlyArray<ValidationIssue> = [{ path: "", message: NOT_UTF8 }]

/** Returns Node's message without the text around the fault, which may be a password. */
const placeOf = (error: unknown): string =>
  error instanceof SyntaxError
    ? `: ${error.message.replace(/, (?:"|\.\.\.).*$/su, "")}`
    : ""

const notJson = (error: unknown): ReadonlyArray<ValidationIssue> => [
  { path: "", message: `Expected valid JSON${placeOf(error)}` }
]

const parse = (text: string): Refusable<unknown> => Result.try({ try: () => JSON.parse(text), catch: notJson })

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
  const most = typeof maxItems === "number" ? maxItems : 0
  const inside = Number.sumAll(
    [prefixItems, properties].flatMap(roomsIn).concat(roomsIn([items]).map((room) => most * room))
  )
  return Math.max(1 + inside, ...[allOf, anyOf, oneOf].flatMap(roomsIn))
}

export const maxValuesOf = (schema: Schema.Constraint): number => {
  const document = Schema.toJsonSchemaDocument(schema)
  return roomIn(document.definitions, document.schema) + JSON_LIMITS.spareValues
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decodeUtf8 = Option.liftThrowable((bytes: ArrayBuffer | Uint8Array) => utf8.decode(bytes))

/** Decodes a value, or returns all issues. The first value builds the decoder: most threads do not read all kinds. */
export const decodeValue = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const toolsOf = Function.memoize((schema: S) => ({
    decode: Schema.decodeUnknownResult(schema),
    issuesOf: issueCollector(schema)
  }))
  return (value: unknown): Refusable<S["Type"]> => {
    const { decode, issuesOf } = toolsOf(schema)
    return Result.mapError(decode(value), () => issuesOf(value))
  }
}

/** Checks limits before parsing; `taken` values, removed from the text, count. `room` is the whole schema. */
export const decodeBounded = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  room: Schema.Constraint = schema
) => {
  const roomOf = Function.memoize(maxValuesOf)
  const decode = decodeValue(schema)
  return (text: Buffer, taken = 0): Refusable<S["Type"]> => {
    const excess = excessOf(text, { depth: JSON_LIMITS.depth, values: roomOf(room) - taken })
    if (excess !== undefined) return Result.fail([excess])
    return Result.fromOption(decodeUtf8(text), () => notUtf8).pipe(Result.flatMap(parse), Result.flatMap(decode))
  }
}

export interface LongBody<Parts> {
  readonly digest: string
  /** The text is the body without its long parts; it is empty if the body is refused. */
  readonly text: string
  readonly issues: ReadonlyArray<ValidationIssue>
  readonly parts: Parts | undefined
}

interface Split<Parts> {
  readonly rest: unknown
  readonly parts: Parts
}

export const digestOf = (bytes: ArrayBuffer): string =>
  createHash("sha256").update(new Uint8Array(bytes)).digest("base64url")

/** The job returns issues, or the members as text with the results for the long parts. */
export const longBodyJob = <Parts>(
  module: string,
  name: string,
  read: (text: Buffer) => Refusable<Split<Parts>>
): HeavyJob<ArrayBuffer, LongBody<Parts>> =>
  new HeavyJob(module, {
    name,
    share: "bodies",
    run: (bytes) => {
      const digest = digestOf(bytes)
      return Result.match(read(Buffer.from(bytes)), {
        onFailure: (issues) => ({ digest, text: "", issues, parts: undefined }),
        onSuccess: ({ parts, rest }) => ({ digest, text: JSON.stringify(rest), issues: [], parts })
      })
    }
  })

const MAX_NAMED = 10

interface Ignored {
  readonly path: string
  /** A known member has almost the same name. */
  readonly meant: string | undefined
}

const encodedOf = (ast: SchemaAST.AST): SchemaAST.AST => ast.encoding?.at(-1)?.to ?? ast

type Members = Readonly<Record<PropertyKey, unknown>>

/** Returns true if the value has the literal members of the schema, such as the `op` of an operation. */
const isMeant = ({ propertySignatures }: SchemaAST.Objects, value: Members) =>
  propertySignatures.every(({ name, type }) => !SchemaAST.isLiteral(type) || type.literal === value[name])

const objectsIn = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.Objects> => {
  const encoded = encodedOf(ast)
  if (SchemaAST.isUnion(encoded)) return encoded.types.flatMap(objectsIn)
  return SchemaAST.isObjects(encoded) ? [encoded] : []
}

const itemOf = (ast: SchemaAST.AST): SchemaAST.AST | undefined => {
  const encoded = encodedOf(ast)
  if (SchemaAST.isUnion(encoded)) return encoded.types.map(itemOf).find((item) => item !== undefined)
  return SchemaAST.isArrays(encoded) ? encoded.rest[0] : undefined
}

const namesIn = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  const item = itemOf(ast)
  return [
    ...(item === undefined ? [] : namesIn(item)),
    ...objectsIn(ast).flatMap(({ propertySignatures }) =>
      propertySignatures.flatMap(({ name, type }) => [String(name), ...namesIn(type)])
    )
  ]
}

const sorted = (name: string) => [...name].toSorted().join("")

/** Letters in another order are one mistake. */
const mistakesIn = (name: string, other: string) => sorted(name) === sorted(other) ? 1 : leven(name, other)

const plain = (name: string) => name.toLowerCase().replace(/[_-]/g, "")

const MOST_WRONG = 2

const meantBy = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (name.length > 64) return undefined
  const [best] = known
    .map((other) => ({ other, wrong: mistakesIn(plain(name), plain(other)) }))
    .filter(({ other, wrong }) => wrong <= Math.min(MOST_WRONG, other.length / 3))
    .toSorted((a, b) => a.wrong - b.wrong)
  return best?.other
}

function* ignoredIn(
  ast: SchemaAST.AST,
  value: unknown,
  path: string,
  returned: ReadonlySet<string>
): Generator<Ignored, void> {
  if (Array.isArray(value)) {
    const item = itemOf(ast)
    if (item === undefined) return
    for (const [index, inside] of value.entries()) yield* ignoredIn(item, inside, `${path}${index}.`, returned)
    return
  }
  if (!Predicate.isReadonlyObject(value)) return
  const known = objectsIn(ast).find((objects) => isMeant(objects, value))
  if (known === undefined || known.indexSignatures.length > 0) return
  const members = new Map(known.propertySignatures.map(({ name, type }) => [String(name), type]))
  for (const [name, inside] of Object.entries(value)) {
    const member = members.get(name)
    if (member !== undefined) yield* ignoredIn(member, inside, `${path}${name}.`, returned)
    else if (!returned.has(name)) yield { path: `${path}${name}`, meant: meantBy(name, [...members.keys()]) }
  }
}

/** Names members that the schema does not know, and what they may mean; those of responses may be sent back. */
export const ignoredMembers = (
  bodies: ReadonlyArray<Schema.Constraint>,
  responses: ReadonlyArray<Schema.Constraint>
) => {
  const returned = new Set(responses.flatMap(({ ast }) => namesIn(ast)))
  const { ast } = Schema.Union(bodies)
  return (value: unknown): ReadonlyArray<Ignored> => [...Iterable.take(ignoredIn(ast, value, "", returned), MAX_NAMED)]
}
