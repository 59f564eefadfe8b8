import { Effect, Schema } from "effect"
import { mkdir, open, readFile } from "node:fs/promises"
import { dirname } from "node:path"
import { queryAt } from "./postgres.ts"

const Endpoint = Schema.Literals(["routes", "collections"])

/** An entry is what a client was about to do, or got a response for. Names are unique in a run. */
const Entry = Schema.Struct({
  kind: Schema.Literals(["intent", "acknowledged"]),
  name: Schema.String,
  endpoint: Endpoint,
  account: Schema.Int,
  id: Schema.optionalKey(Schema.Int)
})

type Entry = typeof Entry.Type

const Line = Schema.fromJsonString(Entry)

/** The file of all intents and acknowledgements. What `append` has returned from is on the disk. */
export interface Ledger {
  readonly append: (entry: Entry) => Promise<void>
  /** The entries whose names begin with a prefix, as the disk has them. */
  readonly read: (prefix: string) => Promise<ReadonlyArray<Entry>>
}

interface Waiting {
  readonly line: string
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

/** Entries that arrive while the disk is busy share the next fsync. */
export const ledgerAt = Effect.fnUntraced(function*(path: string) {
  yield* Effect.promise(() => mkdir(dirname(path), { recursive: true }))
  const file = yield* Effect.acquireRelease(
    Effect.promise(() => open(path, "w")),
    (file) => Effect.promise(() => file.close())
  )
  const state: { waiting: Array<Waiting>; isWriting: boolean } = { waiting: [], isWriting: false }
  const flush = async () => {
    if (state.isWriting) return
    state.isWriting = true
    while (state.waiting.length > 0) {
      const batch = state.waiting
      state.waiting = []
      try {
        await file.appendFile(batch.map(({ line }) => `${line}\n`).join(""))
        await file.sync()
        batch.forEach(({ done }) => done())
      } catch (error) {
        batch.forEach(({ failed }) => failed(error))
      }
    }
    state.isWriting = false
  }
  const ledger: Ledger = {
    append: (entry) =>
      new Promise<void>((done, failed) => {
        state.waiting.push({ line: Schema.encodeSync(Line)(entry), done, failed })
        void flush()
      }),
    read: async (prefix) =>
      (await readFile(path, "utf8")).split("\n").filter((line) => line !== "")
        .map((line) => Schema.decodeSync(Line)(line)).filter(({ name }) => name.startsWith(prefix))
  }
  return ledger
})

const Rows = Schema.Array(Schema.Struct({ name: Schema.String, count: Schema.Int, id: Schema.NumberFromString }))

const STORED = `
  SELECT name, count(*)::int AS count, min(id) AS id FROM (
    SELECT name, id FROM routes WHERE deleted_at IS NULL
    UNION ALL
    SELECT name, id FROM collections WHERE deleted_at IS NULL
  ) AS stored
  WHERE starts_with(name, $1)
  GROUP BY name`

/** Compares the acknowledgements that the ledger has on the disk with the rows of the database at an address. */
export const audit = Effect.fnUntraced(function*(ledger: Ledger, prefix: string, url: string) {
  const entries = yield* Effect.promise(() => ledger.read(prefix))
  const rows = Schema.decodeUnknownSync(Rows)(yield* queryAt(url, STORED, [prefix]))
  const stored = new Map(rows.map((row) => [row.name, row]))
  const acknowledged = entries.filter(({ kind }) => kind === "acknowledged")
  const intended = new Set(entries.map(({ name }) => name))
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.filter(({ id, name }) => {
      const row = stored.get(name)
      return row === undefined || (row.count === 1 && row.id !== id)
    }).length,
    twice: rows.filter(({ count }) => count > 1).length,
    unheardOf: rows.filter(({ name }) => !intended.has(name)).length
  }
})
