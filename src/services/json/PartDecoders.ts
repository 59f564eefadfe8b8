import { type Result, Schema, SchemaAST, type SchemaIssue, SchemaParser } from "effect"

type Decode = (value: unknown) => Result.Result<unknown, SchemaIssue.Issue>

const compile = (ast: SchemaAST.AST, errors: "first" | "all"): Decode =>
  SchemaParser.decodeUnknownResult(Schema.make<Schema.Decoder<unknown>>(ast), { errors })

const decoders = new WeakMap<SchemaAST.AST, Readonly<Record<"first" | "all", Decode>>>()

export const decodersOf = (ast: SchemaAST.AST) => {
  const known = decoders.get(ast)
  if (known !== undefined) return known
  const made = { first: compile(ast, "first"), all: compile(ast, "all") }
  decoders.set(ast, made)
  return made
}

const memberSchemas = new WeakMap<SchemaAST.PropertySignature, SchemaAST.Objects>()

const memberSchema = (signature: SchemaAST.PropertySignature): SchemaAST.Objects => {
  const known = memberSchemas.get(signature)
  if (known !== undefined) return known
  const made = new SchemaAST.Objects([signature], [])
  memberSchemas.set(signature, made)
  return made
}

export type JsonObject = Readonly<Record<PropertyKey, unknown>>

/** An object of one member, or of none where it is absent, and its schema. */
export const memberAlone = (signature: SchemaAST.PropertySignature, object: JsonObject) => ({
  ast: memberSchema(signature),
  value: Object.hasOwn(object, signature.name) ? { [signature.name]: object[signature.name] } : {}
})
