import { Effect, Schema } from "effect"
import { mkdir, open, readFile } from "node:fs/promises"
import { dirname } from "node:path"
import { queryAt } from "./postgres.ts"
import type { Recorder } from "./recorder.ts"

/** An entry is what a client was about to do, or got a response for. Names are unique in a run. */
const Entry = Schema.Struct({
  kind: Schema.Literals(["intent", "acknowledged"]),
  name: Schema.String,
  endpoint: Schema.Literals(["routes", "collections"]),
  account: Schema.Int,
  id: Schema.optionalKey(Schema.Int)
})

const Line = Schema.fromJsonString(Entry)

/** Opens the file of all intents and acknowledgements. */
export const ledgerAt = Effect.fnUntraced(function*(path: string) {
  yield* Effect.promise(() => mkdir(dirname(path), { recursive: true }))
  const file = yield* Effect.acquireRelease(
    Effect.promise(() => open(path, "w")),
    (file) => Effect.promise(() => file.close())
  )
  const state = { waiting: "", written: Promise.resolve() }
  const write = async () => {
    const lines = state.waiting
    state.waiting = ""
    await file.appendFile(lines)
    await file.sync()
  }
  return {
    /** Returns when the entries are on the disk. Entries that arrive while the disk is busy share the next fsync. */
    append: (entries: ReadonlyArray<typeof Entry.Type>) =>
      Effect.promise(() => {
        if (state.waiting === "") state.written = state.written.then(write)
        state.waiting += entries.map((entry) => `${Schema.encodeSync(Line)(entry)}\n`).join("")
        return state.written
      }),
    /** Returns the entries on the disk whose names begin with a prefix. */
    read: (prefix: string) =>
      Effect.promise(() => readFile(path, "utf8")).pipe(
        Effect.map((text) =>
          text.split("\n").filter((line) => line !== "").map((line) => Schema.decodeSync(Line)(line)).filter((
            { name }
          ) => name.startsWith(prefix))
        )
      )
  }
})

export type Ledger = Effect.Success<ReturnType<typeof ledgerAt>>

const Rows = Schema.Array(Schema.Struct({ name: Schema.String, count: Schema.Int, id: Schema.NumberFromString }))

const STORED = `
  SELECT name, count(*)::int AS count, min(id) AS id FROM (
    SELECT name, id FROM routes WHERE deleted_at IS NULL
    UNION ALL
    SELECT name, id FROM collections WHERE deleted_at IS NULL
  ) AS stored
  WHERE starts_with(name, $1)
  GROUP BY name`

/** Compares the acknowledgements on the disk with the rows of the database at an address. */
export const audit = Effect.fnUntraced(function*(
  { ledger, recorder }: { readonly ledger: Ledger; readonly recorder: Recorder },
  prefix: string,
  url: string
) {
  const entries = yield* ledger.read(prefix)
  const rows = Schema.decodeUnknownSync(Rows)(yield* queryAt(url, STORED, [prefix]))
  const stored = new Map(rows.map((row) => [row.name, row]))
  const acknowledged = entries.filter(({ kind }) => kind === "acknowledged")
  const intended = new Set(entries.map(({ name }) => name))
  recorder.report("a row that no client has created", rows.filter(({ name }) => !intended.has(name)).length)
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter(({ id, name }) => {
      const row = stored.get(name)
      return row === undefined || (row.count === 1 && row.id !== id)
    }).length,
    twice: rows.filter(({ count }) => count > 1).length
  }
})
