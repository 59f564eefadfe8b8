import { Iterable, Predicate, Schema, SchemaAST } from "effect"
import leven from "leven"

/** More members are not named. */
const MAX_NAMED = 10

interface Ignored {
  readonly path: string
  /** A known member with almost the same name. */
  readonly meant: string | undefined
}

const encodedOf = (ast: SchemaAST.AST): SchemaAST.AST => ast.encoding?.at(-1)?.to ?? ast

type Members = Readonly<Record<PropertyKey, unknown>>

/** True if the literal members of the schema, such as the `op` of an operation, are those of the value. */
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

/** The names of members at any depth. */
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

/** The known name that a name is most like. */
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

/**
 * Names the members of a value that its schema does not know, and what they may stand for. A client may send back what a
 * response has, so these are not named.
 */
export const ignoredMembers = (
  bodies: ReadonlyArray<Schema.Constraint>,
  responses: ReadonlyArray<Schema.Constraint>
) => {
  const returned = new Set(responses.flatMap(({ ast }) => namesIn(ast)))
  const { ast } = Schema.Union(bodies)
  return (value: unknown): ReadonlyArray<Ignored> => [...Iterable.take(ignoredIn(ast, value, "", returned), MAX_NAMED)]
}
