import { Option, Schema, SchemaGetter } from "effect"

const withoutNull = <A>(value: Option.Option<A | null>): Option.Option<A> =>
  Option.filter(value, (present) => present !== null)

/** `null` is the same as leaving the member out. A union loses its own description, so that it is given again. */
export const optionalMember = <S extends Schema.Constraint>(schema: S, words: { readonly description?: string } = {}) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate(words)).pipe(
    // If the type kept its identifier, the document would name what is sent by it and `Encoded`.
    Schema.decodeTo(Schema.optionalKey(Schema.toType(schema).annotate({ identifier: undefined })), {
      decode: SchemaGetter.transformOptional(withoutNull<S["Type"]>),
      encode: SchemaGetter.passthroughSubtype()
    })
  )

export const oneOfMembers = (...names: ReadonlyArray<string>) => ({
  oneOf: names.map((name) => ({ required: [name], properties: { [name]: { not: { type: "null" } } } }))
})

export const defaultedMember = <S extends Schema.Constraint>(schema: S, value: S["Type"]) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional((given: Option.Option<S["Type"] | null>) =>
        Option.some(Option.getOrElse(withoutNull(given), () => value))
      ),
      encode: SchemaGetter.passthroughSubtype()
    })
  )
