import { Effect } from "effect"
import type { Put } from "./ZipWriter.ts"

/** A value as a JSON file. */
export const asJson = (value: unknown) => (put: Put): Effect.Effect<void> => put(`${JSON.stringify(value, null, 2)}\n`)

/** Pieces of text that are made as they are put. */
export const asText = Effect.fnUntraced(function*(pieces: Iterable<string>, put: Put) {
  for (const piece of pieces) yield* put(piece)
})

/** The rows of some pages as a JSON array with one element a line. */
export const asLines = Effect.fnUntraced(function*<Id, Row>(
  pages: Iterable<ReadonlyArray<Id>>,
  read: (ids: ReadonlyArray<Id>) => Effect.Effect<ReadonlyArray<Row>>,
  lineOf: (row: Row) => string,
  put: Put
) {
  let before = "[\n"
  for (const ids of pages) {
    for (const row of yield* read(ids)) {
      yield* put(before + lineOf(row))
      before = ",\n"
    }
  }
  yield* put(before === "[\n" ? "[\n]\n" : "\n]\n")
})
