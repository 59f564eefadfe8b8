import { Predicate, Result, SchemaAST } from "effect"
import { formatIssue, type ValidationIssue } from "../../schema/Issues.ts"
import { decodersOf, type JsonObject, memberAlone } from "./PartDecoders.ts"

/** The members as a rule reads them, each decoded alone, and whether one that it has read is refused. */
const membersOf = ({ propertySignatures }: SchemaAST.Objects, object: JsonObject) => {
  let isDisturbed = false
  const read = (name: PropertyKey) => {
    const signature = propertySignatures.find((one) => one.name === name)
    if (signature === undefined) return undefined
    const { ast, value } = memberAlone(signature, object)
    const decoded = Result.getOrUndefined(decodersOf(ast).first(value))
    if (Predicate.isReadonlyObject(decoded)) return decoded[name]
    isDisturbed = true
    return undefined
  }
  return { members: new Proxy({}, { get: (_, name) => read(name) }), isDisturbed: () => isDisturbed }
}

const ruleSchemas = new WeakMap<SchemaAST.Objects, ReadonlyArray<SchemaAST.Objects>>()

/** One schema a rule, which takes any members. */
const rulesOf = (ast: SchemaAST.Objects) => {
  const known = ruleSchemas.get(ast)
  if (known !== undefined) return known
  const made = (ast.checks ?? []).map((rule) => new SchemaAST.Objects([], [], undefined, [rule]))
  ruleSchemas.set(ast, made)
  return made
}

const issuesOfRule = (rule: SchemaAST.Objects, ast: SchemaAST.Objects, object: JsonObject) => {
  const { isDisturbed, members } = membersOf(ast, object)
  const decoded = decodersOf(rule).all(members)
  return Result.isSuccess(decoded) || isDisturbed() ? [] : formatIssue(decoded.failure)
}

/** Of the rules between members, which the decoder does not look at once a member is refused, those that read no such member. */
export const ruleIssues = (ast: SchemaAST.AST, object: unknown): ReadonlyArray<ValidationIssue> =>
  SchemaAST.isObjects(ast) && Predicate.isReadonlyObject(object)
    ? rulesOf(ast).flatMap((rule) => issuesOfRule(rule, ast, object))
    : []
