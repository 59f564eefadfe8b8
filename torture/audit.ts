import { Effect, Schema } from "effect"
import type { Entry, Ledger } from "./ledger.ts"
import { queryAt } from "./postgres.ts"

const Rows = Schema.Array(Schema.Struct({ name: Schema.String, count: Schema.Int, id: Schema.NumberFromString }))

const ALL = `
  SELECT name, count(*)::int AS count, min(id) AS id FROM (
    SELECT name, id FROM routes WHERE deleted_at IS NULL
    UNION ALL
    SELECT name, id FROM collections WHERE deleted_at IS NULL
  ) AS stored
  WHERE starts_with(name, $1)
  GROUP BY name`

/** What the ledger on the disk says that there is, compared with what the database at an address has. */
export const audit = Effect.fnUntraced(function*(ledger: Ledger, prefix: string, url: string) {
  const entries: ReadonlyArray<Entry> = yield* Effect.promise(() => ledger.read(prefix))
  const rows = Schema.decodeUnknownSync(Rows)(yield* queryAt(url, ALL, [prefix]))
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
