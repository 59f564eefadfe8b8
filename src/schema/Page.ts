import { Schema, SchemaGetter } from "effect"

export const MAX_LIMIT = 200

export const DEFAULT_LIMIT = 100

const MAX_OFFSET = Number.MAX_SAFE_INTEGER

export const decimal = (minimum: number, maximum: number, description: string) =>
  Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,15})$/, { expected: "a plain decimal number" })).pipe(
    Schema.decodeTo(
      Schema.Number.check(Schema.isBetween({ minimum, maximum }).abort(), Schema.isInt()).annotate({ description }),
      {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.String()
      }
    )
  )

const PageQuery = {
  limit: Schema.optionalKey(decimal(1, MAX_LIMIT, `How many; ${DEFAULT_LIMIT} if absent`)),
  offset: Schema.optionalKey(decimal(0, MAX_OFFSET, "How many to pass over; none if absent"))
}

/** With `ONLY_KNOWN` unknown parameters are errors: a misspelt filter would select all rows. */
export const listQuery = <Filters extends Schema.Struct.Fields>(filters: Filters) => {
  const fields = { ...filters, ...PageQuery }
  return Schema.Struct(fields).annotate({
    messageUnexpectedKey: `Unknown parameter: Expected one of ${Object.keys(fields).join(", ")}`
  })
}

export const ONLY_KNOWN = { errors: "all", onExcessProperty: "error" } as const

/** A page of routes ends after so many bytes of polylines and waypoints. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024

export interface Page {
  readonly limit: number
  readonly offset: number
}

export interface PageOf<A> {
  readonly items: ReadonlyArray<A>
  readonly total: number
  /** Rows of the list that the page covers, where it may end before its limit. */
  readonly covered?: number
}

export const pageOf = (query: { readonly limit?: number; readonly offset?: number }): Page => ({
  limit: query.limit ?? DEFAULT_LIMIT,
  offset: query.offset ?? 0
})
