import { Option, Schema, SchemaGetter } from "effect"

const withoutNull = <A>(value: Option.Option<A | null>): Option.Option<A> =>
  Option.filter(value, (present) => present !== null)

/** A member that a request may leave out; `null` is the same as leaving it out. */
export const optionalMember = <S extends Schema.Constraint>(schema: S) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.optionalKey(Schema.toType(schema)), {
      decode: SchemaGetter.transformOptional(withoutNull<S["Type"]>),
      encode: SchemaGetter.passthroughSubtype()
    })
  )

/** For documents: exactly one of these members; `null` is the same as leaving one out. */
export const oneOfMembers = (...names: ReadonlyArray<string>) => ({
  oneOf: names.map((name) => ({ required: [name], properties: { [name]: { not: { type: "null" } } } }))
})

/** The same with a default for what was left out. */
export const defaultedMember = <S extends Schema.Constraint>(schema: S, value: S["Type"]) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional((given: Option.Option<S["Type"] | null>) =>
        Option.some(Option.getOrElse(withoutNull(given), () => value))
      ),
      encode: SchemaGetter.passthroughSubtype()
    })
  )
