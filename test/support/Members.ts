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

/** Returns the members that an encoded body may have, with those of objects in it, such as `waypoints.*.name`. */
export const membersOf = (schema: Schema.Top): ReadonlyArray<string> => [
  ...new Set(membersIn(Schema.toEncoded(schema).ast, []))
]

/** Returns the values of a body at a member; `*` is each element of an array. */
export const valuesAt = (body: unknown, member: string): ReadonlyArray<unknown> =>
  member.split(".").reduce<ReadonlyArray<unknown>>(
    (values, name) =>
      values.flatMap((value) => {
        if (name === "*") return Array.isArray(value) ? value : []
        return isRecord(value) && name in value ? [value[name]] : []
      }),
    [body]
  )

/** Returns a body's members at the top, without these names. */
export const without = (body: unknown, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(isRecord(body) ? body : {}).filter(([name]) => !names.includes(name)))

/** Returns the part of a response with the same members as the sent body. */
export const membersLike = (sent: unknown, read: unknown) =>
  Object.fromEntries(
    Object.keys(isRecord(sent) ? sent : {}).map((name) => [name, isRecord(read) ? read[name] : undefined])
  )
