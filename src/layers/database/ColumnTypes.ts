import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const { int8, timestamptz, varchar } = PgTypes.OID

/** PostgreSQL counts microseconds from the beginning of 2000. */
const EPOCH = Date.UTC(2000, 0)
const MICROSECONDS = 1000

const HIGH = 2 ** 32

type Read<A> = (bytes: Uint8Array, offset: number, size: number) => A

/** The last view is kept, since the values of many rows are in one buffer. */
const last: { view: DataView } = { view: new DataView(new ArrayBuffer(0)) }

const viewOf = ({ buffer }: Uint8Array): DataView => {
  if (last.view.buffer !== buffer) last.view = new DataView(buffer)
  return last.view
}

/** Returns a rounded number for an integer that is not safe, which no schema of a column accepts. */
const wholeAt = (bytes: Uint8Array, offset: number): number => {
  const view = viewOf(bytes)
  const at = bytes.byteOffset + offset
  return view.getInt32(at) * HIGH + view.getUint32(at + 4)
}

/** Uses `BigInt` only for times that are inexact without it: 285 years and more from 2000. */
const millisecondsAt = (bytes: Uint8Array, offset: number): number => {
  const microseconds = wholeAt(bytes, offset)
  return Number.isSafeInteger(microseconds)
    ? (microseconds - microseconds % MICROSECONDS) / MICROSECONDS
    : Number(viewOf(bytes).getBigInt64(bytes.byteOffset + offset) / BigInt(MICROSECONDS))
}

/** Returns ISO 8601, or NaN, which no schema of a column accepts, for `infinity` and other times that no `Date` has. */
const timeAt = (bytes: Uint8Array, offset: number): string | number => {
  const date = new Date(EPOCH + millisecondsAt(bytes, offset))
  return Number.isNaN(date.getTime()) ? Number.NaN : date.toISOString()
}

/** Returns a view and no copy, as the driver does for `bytea`. */
const bytesAt: Read<Uint8Array> = ({ buffer, byteOffset }, offset, size) =>
  new Uint8Array(buffer, byteOffset + offset, size)

const codecOf = (oid: number, read: Read<unknown>): PgTypes.Codec<unknown> => ({
  encode: (value) => PgTypes.encode(value, oid),
  decode: (bytes) => Result.succeed(read(bytes, 0, bytes.length)),
  read: (bytes, offset, size) => Result.succeed(read(bytes, offset, size))
})

/**
 * Reads `bigint` as a number and `timestamptz` as text, as responses have them, so that Effect compiles a function for
 * the row and none for its columns (decision 0015). Reads `varchar` as UTF-8 bytes: it marks long text that responses
 * send unchanged, since tables do not use this type, and PostgreSQL casts `text` to it at no cost. Writes as the driver
 * does.
 */
export const makeColumnTypes = (): PgTypes.Registry => {
  const types = PgTypes.makeRegistry()
  types.register(int8, codecOf(int8, wholeAt))
  types.register(timestamptz, codecOf(timestamptz, timeAt))
  types.register(varchar, codecOf(varchar, bytesAt))
  return types
}
