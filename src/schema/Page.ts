import { Schema, SchemaGetter } from "effect"

export const MAX_LIMIT = 200

export const DEFAULT_LIMIT = 100

const MAX_OFFSET = Number.MAX_SAFE_INTEGER

export const decimal = (minimum: number, maximum: number, description: string) =>
  Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,15})$/u, { expected: "a plain decimal number" })).pipe(
    Schema.decodeTo(
      Schema.Number.check(Schema.isBetween({ minimum, maximum }).abort(), Schema.isInt()).annotate({ description }),
      {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.String()
      }
    )
  )

export const Flag = Schema.Literals(["true", "false"])

export const flag = (description: string) => Schema.optionalKey(Flag.annotate({ description }))

/** The longest position fits, a name of 255 characters that JSON escapes. */
const Cursor = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,4096}$/u, { expected: "the cursor of a `next` link" })
)
  .annotate({ description: "Where the page begins, from the `next` link of the one before it; not with `offset`" })

const PageQuery = {
  limit: Schema.optionalKey(decimal(1, MAX_LIMIT, `How many; ${DEFAULT_LIMIT} if absent`)),
  offset: Schema.optionalKey(decimal(0, MAX_OFFSET, "How many to pass over; none if absent")),
  cursor: Schema.optionalKey(Cursor)
}

const isOneStart = ({ cursor, offset }: { readonly cursor?: string; readonly offset?: number }) =>
  cursor === undefined || offset === undefined

/** Refuses unknown parameters and names the accepted ones: a misspelt filter would select all rows. */
export const knownQuery = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotate({
    messageUnexpectedKey: `Unknown parameter: Expected one of ${Object.keys(fields).join(", ")}`
  })

export const listQuery = <Filters extends Schema.Struct.Fields>(filters: Filters) =>
  knownQuery({ ...filters, ...PageQuery }).check(
    Schema.makeFilter((query) => isOneStart(query) || { path: ["cursor"], issue: "Expected either cursor or offset" })
  )

/** A page of routes ends after these bytes of polylines and waypoints. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024

/** The position of an item is the value that sorts the list, and the id. */
export const ListPosition = Schema.Tuple([
  Schema.Union([Schema.String, Schema.Finite]),
  Schema.Union([Schema.String, Schema.Finite])
])
export type ListPosition = typeof ListPosition.Type

export interface Page {
  readonly limit: number
  readonly offset: number
  readonly after?: ListPosition | undefined
}

export interface PageOf<A> {
  readonly items: ReadonlyArray<A>
  readonly total: number
  /** The page covers this many rows, if it may end before its limit. */
  readonly covered?: number
  /** The page ends with the row at this position, if more rows follow. */
  readonly end?: ListPosition | undefined
}
