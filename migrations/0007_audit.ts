import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // What somebody did goes with them; what was done to somebody stays, and no longer says to whom.
  yield* sql`
    CREATE TABLE audit_events (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      created_at timestamptz NOT NULL,
      event text NOT NULL,
      user_id bigint REFERENCES users ON DELETE CASCADE,
      subject_id bigint REFERENCES users ON DELETE SET NULL,
      trace_id text
    )`
  yield* sql`CREATE INDEX audit_events_user_idx ON audit_events (user_id, id DESC)`
  yield* sql`CREATE INDEX audit_events_subject_idx ON audit_events (subject_id, id DESC)`
  yield* sql`CREATE INDEX audit_events_expiry_idx ON audit_events (created_at)`
})
