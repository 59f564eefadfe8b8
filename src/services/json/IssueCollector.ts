import { Iterable, Predicate, Result, type Schema, SchemaAST } from "effect"
import { formatIssue, MAX_ISSUES, type ValidationIssue } from "../../schema/Issues.ts"
import { decodersOf, type JsonObject, memberAlone } from "./PartDecoders.ts"
import { ruleIssues } from "./RuleIssues.ts"

type Key = string | number

interface Part {
  readonly ast: SchemaAST.AST
  readonly value: unknown
  readonly path: ReadonlyArray<Key>
}

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
  } else if (SchemaAST.isObjects(ast) && ast.indexSignatures.length === 0 && Predicate.isReadonlyObject(value)) {
    yield* issuesOfMembers(ast, path, value)
  }
}

function* issuesOfMembers(
  ast: SchemaAST.Objects,
  path: ReadonlyArray<Key>,
  object: JsonObject
): Generator<ValidationIssue> {
  let isAccepted = true
  for (const signature of ast.propertySignatures) {
    for (const issue of issuesOfMember(signature, path, object)) {
      isAccepted = false
      yield issue
    }
  }
  if (!isAccepted) yield* ruleIssues(ast, object).map((issue) => below(path, issue))
}

const issuesOfMember = (
  signature: SchemaAST.PropertySignature,
  path: ReadonlyArray<Key>,
  object: JsonObject
): Generator<ValidationIssue> => {
  const { name, type } = signature
  const alone = { ...memberAlone(signature, object), path }
  const key = typeof name === "symbol" ? name.toString() : name
  return issuesIn({ ast: type, path: [...path, key], value: object[name] }, alone)
}

/** The first issues; `errors: "all"` would collect those of 50,000 invalid items before any limit. */
export const issueCollector = (schema: Schema.Constraint) => (value: unknown): ReadonlyArray<ValidationIssue> => [
  ...Iterable.take(issuesIn({ ast: schema.ast, path: [], value }), MAX_ISSUES)
]
