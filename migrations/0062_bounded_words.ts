import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The words that are stored stay: only those of texts of over 40,000 characters would differ. */
export default SqlClient.SqlClient.use((sql) =>
  Effect.asVoid(sql`
    DO $step$ BEGIN
      EXECUTE replace(
        pg_get_functiondef('search_words(text)'::regprocedure),
        'normalize(content, NFKD)',
        'left(normalize(content, NFKD), 40000)'
      );
    END $step$`)
)
