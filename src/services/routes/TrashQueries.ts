import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { CollectionId, RouteId, UserId } from "../../schema/Ids.ts"
import { Missing, type Overloaded } from "../DomainErrors.ts"
import { WriterTurns } from "../limits/WriterTurns.ts"
import { deletionCutoff } from "../retention/DeletionCutoff.ts"
import { countRows } from "../sql/Pages.ts"

/** Rows that one statement erases: with the longest lines or the most members it stays below its timeout. */
const PURGED_AT_ONCE = 100

const TABLES = { route: "routes", collection: "collections" } as const

/** What the trashes of routes and of collections share. Rows are erased in a turn of the account (`WriterTurns`). */
export const trashQueries = Effect.fnUntraced(function*(kind: keyof typeof TABLES) {
  const sql = yield* SqlClient.SqlClient
  const writers = yield* WriterTurns
  const table = sql(TABLES[kind])

  // Locked in the order of their ids, as a batch locks them.
  const purgeSome = (owner: UserId) =>
    sql`
      DELETE FROM ${table} WHERE id IN (
        SELECT id FROM ${table} WHERE user_id = ${owner} AND deleted_at IS NOT NULL
        ORDER BY id LIMIT ${PURGED_AT_ONCE} FOR UPDATE
      ) RETURNING id`

  const empty = (owner: UserId): Effect.Effect<void, SqlError.SqlError | Overloaded> =>
    Effect.flatMap(
      writers.run(owner, purgeSome(owner)),
      (purged) => purged.length < PURGED_AT_ONCE ? Effect.void : empty(owner)
    )

  return {
    count: Effect.fnUntraced(function*(owner: UserId) {
      return yield* countRows(sql, sql`${table} WHERE user_id = ${owner} AND deleted_at > ${yield* deletionCutoff}`)
    }),

    purge: Effect.fnUntraced(function*(owner: UserId, id: CollectionId | RouteId) {
      const since = yield* deletionCutoff
      const rows = yield* writers.run(
        owner,
        sql`DELETE FROM ${table} WHERE id = ${id} AND user_id = ${owner} AND deleted_at > ${since} RETURNING id`
      )
      if (rows.length === 0) return yield* new Missing({ kind })
    }),

    /** In several transactions: what a failure leaves is erased by another call. */
    empty
  }
})
