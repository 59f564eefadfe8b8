import { Predicate, Record, type Schema } from "effect"
import { AuditEvent, Reachability } from "../../schema/Admin.ts"
import { Scope } from "../../schema/Credential.ts"
import { GeometryForm } from "../../schema/Geometry.ts"
import { GpxForm } from "../../schema/Import.ts"
import { Language } from "../../schema/Maneuver.ts"
import { Flag } from "../../schema/Page.ts"
import { PictureTheme } from "../../schema/Picture.ts"
import { Activity } from "../../schema/Preferences.ts"
import { Visibility } from "../../schema/Resource.ts"
import { Provenance } from "../../schema/Route.ts"
import { RouteSort } from "../../schema/RouteSearch.ts"
import { DeletionStatus, Role } from "../../schema/User.ts"

type Enumeration = Schema.Top & { readonly literals: ReadonlyArray<string> }

type JsonObject = Readonly<globalThis.Record<string, unknown>>

/** Without a name of its own, an enumeration is another type of a generated client wherever it is used. */
const ENUMERATIONS: Readonly<globalThis.Record<string, { readonly schema: Enumeration; readonly words: string }>> = {
  Activity: { schema: Activity, words: "An activity." },
  AuditEvent: { schema: AuditEvent, words: "What happened to an account." },
  DeletionStatus: { schema: DeletionStatus, words: "Whether an account is pending deletion." },
  Flag: { schema: Flag, words: "A switch in a query." },
  GeometryForm: { schema: GeometryForm, words: "What of a line is returned." },
  GpxForm: { schema: GpxForm, words: "What of a route a GPX file has." },
  Language: { schema: Language, words: "A language of directions." },
  PictureTheme: { schema: PictureTheme, words: "The colours of a picture." },
  Provenance: { schema: Provenance, words: "Where a route comes from." },
  Reachability: { schema: Reachability, words: "Whether what the service needs responds." },
  Role: { schema: Role, words: "What an account may do." },
  RouteSort: { schema: RouteSort, words: "The order of a list of routes; `-` is descending." },
  TokenScope: { schema: Scope, words: "What a token may do; `write` includes `read`." },
  Visibility: { schema: Visibility, words: "Who may open it beside its owner." }
}

const entryOf = (value: string) => {
  const [direction, name] = value.startsWith("-") ? ["Descending", value.slice(1)] : ["Ascending", value]
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${direction}`
}

/** Generators name the entry of a value after it, and an entry of Kotlin or Java cannot be called `name`. */
const ENTRIES: Readonly<globalThis.Record<string, (value: string) => string>> = { RouteSort: entryOf }

export const enumerations = (): JsonObject =>
  Record.map(ENUMERATIONS, ({ schema: { literals }, words }, name) => ({
    type: "string",
    enum: literals,
    description: words,
    examples: literals.slice(0, 1),
    ...(ENTRIES[name] === undefined ? {} : { "x-enum-varnames": literals.map(ENTRIES[name]) })
  }))

const keyOf = (values: ReadonlyArray<unknown>) => JSON.stringify(values.filter((value) => value !== null).toSorted())

const NAMES = new Map(Object.entries(ENUMERATIONS).map(([name, { schema }]) => [keyOf(schema.literals), name]))

const named = (schema: JsonObject): JsonObject => {
  const { description, enum: values, type } = schema
  const name = Array.isArray(values) ? NAMES.get(keyOf(values)) : undefined
  if (name === undefined) return schema
  const reference = { $ref: `#/components/schemas/${name}` }
  const words = description === undefined ? {} : { description }
  return Array.isArray(type) ? { anyOf: [reference, { type: "null" }], ...words } : { ...reference, ...words }
}

export const withEnumerations = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withEnumerations)
  if (!Predicate.isObject(value)) return value
  return named(
    Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        name === "examples" || name === "example" ? member : withEnumerations(member)
      ])
    )
  )
}
