import { Schema, SchemaAST } from "effect"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const membersIn = (ast: SchemaAST.AST, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap((type) => membersIn(type, path))
  if (SchemaAST.isArrays(ast)) return ast.rest.flatMap((type) => membersIn(type, [...path, "*"]))
  if (!SchemaAST.isObjects(ast)) return []
  return ast.propertySignatures.flatMap(({ name, type }) => {
    const member = [...path, String(name)]
    const inner = membersIn(type, member)
    return inner.length === 0 ? [member.join(".")] : inner
  })
}

/** The members that a body may have as it is sent, with those of objects in it, as in `waypoints.*.name`. */
export const membersOf = (schema: Schema.Top): ReadonlyArray<string> => [
  ...new Set(membersIn(Schema.toEncoded(schema).ast, []))
]

/** What a body has at a member; `*` is each element of an array. */
export const valuesAt = (body: unknown, member: string): ReadonlyArray<unknown> =>
  member.split(".").reduce<ReadonlyArray<unknown>>(
    (values, name) =>
      values.flatMap((value) => {
        if (name === "*") return Array.isArray(value) ? value : []
        return isRecord(value) && name in value ? [value[name]] : []
      }),
    [body]
  )

/** A body's members at the top, without those that a test leaves out. */
export const without = (body: unknown, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(isRecord(body) ? body : {}).filter(([name]) => !names.includes(name)))

/** What a response has of the members of a body. */
export const membersLike = (sent: unknown, read: unknown) =>
  Object.fromEntries(
    Object.keys(isRecord(sent) ? sent : {}).map((name) => [name, isRecord(read) ? read[name] : undefined])
  )
