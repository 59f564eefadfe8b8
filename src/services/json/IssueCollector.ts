import { Iterable, Result, Schema, SchemaAST, type SchemaIssue, SchemaParser } from "effect"
import { formatIssue, MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"

type Key = string | number

interface Part {
  readonly ast: SchemaAST.AST
  readonly value: unknown
  readonly path: ReadonlyArray<Key>
}

type Decode = (value: unknown) => Result.Result<unknown, SchemaIssue.Issue>

const compile = (ast: SchemaAST.AST, errors: "first" | "all"): Decode =>
  SchemaParser.decodeUnknownResult(Schema.make<Schema.Decoder<unknown>>(ast), { errors })

const decoders = new WeakMap<SchemaAST.AST, Readonly<Record<"first" | "all", Decode>>>()

const decodersOf = (ast: SchemaAST.AST) => {
  const known = decoders.get(ast)
  if (known !== undefined) return known
  const made = { first: compile(ast, "first"), all: compile(ast, "all") }
  decoders.set(ast, made)
  return made
}

const isRefused = ({ ast, value }: Part): boolean => Result.isFailure(decodersOf(ast).first(value))

const issuesOfWhole = ({ ast, path, value }: Part): ReadonlyArray<ValidationIssue> =>
  Result.match(decodersOf(ast).all(value), {
    onSuccess: () => [],
    onFailure: (issue) =>
      formatIssue(issue).map((inside) => ({
        path: [...path, ...(inside.path === "" ? [] : [inside.path])].join("."),
        message: inside.message
      }))
  })

const isRecord = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const memberSchemas = new WeakMap<SchemaAST.PropertySignature, SchemaAST.Objects>()

const memberSchema = (signature: SchemaAST.PropertySignature): SchemaAST.Objects => {
  const known = memberSchemas.get(signature)
  if (known !== undefined) return known
  const made = new SchemaAST.Objects([signature], [])
  memberSchemas.set(signature, made)
  return made
}

const onlyOf = ({ types }: SchemaAST.Union): SchemaAST.AST | undefined => {
  const others = types.filter((type) => !SchemaAST.isNull(type))
  return others.length === 1 ? others[0] : undefined
}

/** The issues of the parts, else of the whole. Lazy: decodes nothing after the last issue that is taken. */
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
    const { first } = decodersOf(item)
    for (const [index, inside] of value.entries()) {
      if (Result.isFailure(first(inside))) yield* issuesIn({ ast: item, path: [...path, index], value: inside })
    }
  } else if (SchemaAST.isObjects(ast) && ast.indexSignatures.length === 0 && isRecord(value)) {
    for (const signature of ast.propertySignatures) yield* issuesOfMember(signature, path, value)
  }
}

const issuesOfMember = (
  signature: SchemaAST.PropertySignature,
  path: ReadonlyArray<Key>,
  object: Readonly<Record<PropertyKey, unknown>>
): Generator<ValidationIssue> => {
  const { name, type } = signature
  const isGiven = Object.hasOwn(object, name)
  const alone = { ast: memberSchema(signature), path, value: isGiven ? { [name]: object[name] } : {} }
  const key = typeof name === "symbol" ? name.toString() : name
  return issuesIn({ ast: type, path: [...path, key], value: object[name] }, alone)
}

/** The first 100 issues; `errors: "all"` would collect those of 50,000 invalid items before any limit. */
export const issueCollector = (schema: Schema.Constraint) => (value: unknown): ReadonlyArray<ValidationIssue> => [
  ...Iterable.take(issuesIn({ ast: schema.ast, path: [], value }), MAX_ISSUES)
]
