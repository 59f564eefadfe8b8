import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Returns the columns, constraints, indexes, functions, triggers and collations of a database, for any order of the
 * columns and any white space in functions.
 */
export const catalogue = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly item: string }>`
    WITH here AS (SELECT 'public'::regnamespace AS schema), tables AS (
      SELECT c.oid, c.relname AS name, c.relkind AS kind, c.reloptions AS options FROM pg_class c, here
      WHERE c.relnamespace = here.schema AND c.relkind IN ('r', 'S') AND c.relname <> 'effect_sql_migrations'
    )
    SELECT concat_ws(' ', name, kind, options) AS item FROM tables
    UNION ALL
    SELECT concat_ws(' ', 'column', t.name, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
      a.attgenerated, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
    FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
    UNION ALL
    SELECT concat_ws(' ', 'constraint', t.name, c.conname, pg_get_constraintdef(c.oid), c.convalidated)
    FROM tables t JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype <> 'n'
    UNION ALL
    SELECT pg_get_indexdef(i.indexrelid) FROM tables t JOIN pg_index i ON i.indrelid = t.oid
    UNION ALL
    SELECT pg_get_triggerdef(g.oid) FROM tables t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
    UNION ALL
    SELECT pg_get_functiondef(p.oid) FROM pg_proc p, here WHERE p.pronamespace = here.schema
    UNION ALL
    SELECT concat_ws(' ', 'collation', c.collname, c.collprovider,
      coalesce(to_jsonb(c) ->> 'colllocale', to_jsonb(c) ->> 'colliculocale'))
    FROM pg_collation c, here WHERE c.collnamespace = here.schema`
).pipe(
  // The collation of words is the best one of the server.
  Effect.map((rows) =>
    rows.map(({ item }) => item.replaceAll(/\s+/g, " ").replaceAll(/COLLATE pg_catalog\."[^"]+"/g, "COLLATE \"best\""))
      .toSorted()
  )
)
