import { Predicate } from "effect"

type JsonObject = Readonly<Record<string, unknown>>

/** Members of which exactly one is present (`oneOfMembers`). */
const exclusiveMembers = ({ oneOf }: JsonObject): ReadonlyArray<string> =>
  Array.isArray(oneOf)
    ? oneOf.flatMap((choice) =>
      Predicate.isObject(choice) && Array.isArray(choice["required"]) ? choice["required"].map(String) : []
    )
    : []

const withoutNull = (schema: unknown) =>
  Predicate.isObject(schema) && Array.isArray(schema["type"]) ? { ...schema, type: schema["type"][0] } : schema

const capital = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

/** Generators ignore `properties` beside `oneOf`; bodies become `TraceRequestByShape` and so on. */
export const alternatives = (name: string, schema: unknown): ReadonlyArray<readonly [string, unknown]> => {
  const exclusive = Predicate.isObject(schema) ? exclusiveMembers(schema) : []
  if (!Predicate.isObject(schema) || !Predicate.isObject(schema["properties"]) || exclusive.length === 0) {
    return [[name, schema]]
  }
  const { oneOf: _, properties, required = [], ...rest } = schema
  const members = Object.entries(Predicate.isObject(properties) ? properties : {})
  const choices = exclusive.map((chosen) =>
    [`${name}By${capital(chosen)}`, {
      ...rest,
      required: [...(Array.isArray(required) ? required : []), chosen],
      properties: Object.fromEntries(
        members.flatMap(([member, schema]) => {
          if (member === chosen) return [[member, withoutNull(schema)]]
          return exclusive.includes(member) ? [] : [[member, schema]]
        })
      )
    }] as const
  )
  return [[name, { oneOf: choices.map(([choice]) => ({ $ref: `#/components/schemas/${choice}` })) }], ...choices]
}
