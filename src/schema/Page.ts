import { Schema, SchemaGetter } from "effect"

/** Offsets are bounded, so that no request can make the database skip a billion rows. */
const MAX_OFFSET = 1_000_000

/** A plain decimal number in a query: no sign, no exponent, no empty string. */
const decimal = (minimum: number, maximum: number, description: string) =>
  Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,15})$/, { expected: "a plain decimal number" })).pipe(
    Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ description }), {
      decode: SchemaGetter.transform(Number),
      encode: SchemaGetter.String()
    })
  )

/** The query of every list: `limit` 1 to 200, 100 if absent; `offset` from 0. */
export const PageQuery = {
  limit: Schema.optionalKey(decimal(1, 200, "How many; 100 if absent")),
  offset: Schema.optionalKey(decimal(0, MAX_OFFSET, "How many to pass over; none if absent"))
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

export const pageOf = (query: { readonly limit?: number; readonly offset?: number }): Page => ({
  limit: query.limit ?? 100,
  offset: query.offset ?? 0
})
