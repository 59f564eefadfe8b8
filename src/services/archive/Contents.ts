import { Effect } from "effect"
import { isTooRepetitive, padLine } from "./Padding.ts"
import type { FileWriter } from "./ZipWriter.ts"

/** A value as a JSON file. */
export const asJson = (value: unknown) => ({ put }: FileWriter): Effect.Effect<void> =>
  put(`${JSON.stringify(value, null, 2)}\n`)

/** Pieces of text that are made as they are put. */
export const asText = Effect.fnUntraced(function*(pieces: Iterable<string>, { put }: FileWriter) {
  for (const piece of pieces) yield* put(piece)
})

/** The rows of some pages as a JSON array with one element a line. */
export const asLines = Effect.fnUntraced(function*<Id, Row>(
  pages: Iterable<ReadonlyArray<Id>>,
  read: (ids: ReadonlyArray<Id>) => Effect.Effect<ReadonlyArray<Row>>,
  lineOf: (row: Row) => string,
  { packed, put }: FileWriter
) {
  let before = "[\n"
  for (const ids of pages) {
    for (const row of yield* read(ids)) {
      const line = lineOf(row)
      yield* put(before + line)
      if (isTooRepetitive(packed())) yield* padLine(line, put)
      before = ",\n"
    }
  }
  yield* put(before === "[\n" ? "[\n]\n" : "\n]\n")
})
