import { Effect, type Scope } from "effect"
import type { SpooledFile } from "../spool/Spool.ts"
import { piecesOf } from "./TextPieces.ts"
import type { FileWriter } from "./ZipWriter.ts"

export type TakeText = (texts: Iterable<string>) => Effect.Effect<SpooledFile, never, Scope.Scope>

export const asJson = (value: unknown) => ({ put }: FileWriter): Effect.Effect<void> =>
  put(`${JSON.stringify(value, null, 2)}\n`)

/** A whole page is spooled before it is sent: no row stays in memory for a slow reader. */
const takeLines = <Row>(rows: ReadonlyArray<Row>, lineOf: (row: Row) => string, take: TakeText) =>
  Effect.forEach(rows, (row) => take(piecesOf(lineOf(row))))

export const asLines = Effect.fnUntraced(function*<Id, Row>(
  pages: Iterable<ReadonlyArray<Id>>,
  read: (ids: ReadonlyArray<Id>) => Effect.Effect<ReadonlyArray<Row>>,
  lineOf: (row: Row) => string,
  take: TakeText,
  { put, send }: FileWriter
) {
  const state = { before: "[\n" }

  const putLine = Effect.fnUntraced(function*(line: SpooledFile) {
    yield* put(state.before)
    yield* send(line)
    state.before = ",\n"
  })

  const putPage = (ids: ReadonlyArray<Id>) =>
    read(ids).pipe(
      Effect.flatMap((rows) => takeLines(rows, lineOf, take)),
      Effect.flatMap(Effect.forEach(putLine, { discard: true })),
      Effect.scoped
    )

  for (const ids of pages) yield* putPage(ids)
  yield* put(state.before === "[\n" ? "[\n]\n" : "\n]\n")
})
