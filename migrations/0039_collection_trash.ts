import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Deleted collections do not count. */
const LIVE = "(deleted_at IS NULL)::int"

const EVENTS = {
  insert: [["added", 1]],
  update: [["added", 1], ["removed", -1]],
  delete: [["removed", -1]]
} as const

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // Every collection is counted again.
  yield* sql`SET LOCAL statement_timeout = 0`
  yield* sql`LOCK TABLE collections IN SHARE ROW EXCLUSIVE MODE`

  for (const [event, tables] of Object.entries(EVENTS)) {
    const changes = tables.map(([table, sign]) => `SELECT user_id, ${sign} * ${LIVE} AS amount FROM ${table}`)
    yield* sql`
      CREATE OR REPLACE FUNCTION ${
      sql.literal(`count_collections_on_${event}`)
    }() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM add_collection_usage(user_id, amount, 0) FROM (
          SELECT user_id, sum(amount) AS amount FROM (${sql.literal(changes.join(" UNION ALL "))}) changes
          GROUP BY user_id HAVING sum(amount) <> 0 ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$`
  }
  yield* sql`
    UPDATE collection_usage u SET collections = c.live FROM (
      SELECT user_id, sum(${sql.literal(LIVE)}) AS live FROM collections GROUP BY user_id
    ) c WHERE c.user_id = u.user_id AND c.live <> u.collections`

  yield* sql`
    CREATE INDEX collections_trash_idx ON collections (user_id, deleted_at DESC, id DESC) WHERE deleted_at IS NOT NULL`
})
