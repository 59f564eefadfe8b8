import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STEP = `
CREATE TABLE server_runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run text NOT NULL UNIQUE
);
CREATE TABLE kept_changes (
  user_id bigint NOT NULL REFERENCES change_counters ON DELETE CASCADE,
  run_id bigint NOT NULL REFERENCES server_runs,
  last bigint NOT NULL,
  PRIMARY KEY (user_id, run_id)
);
CREATE FUNCTION current_run() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  running text := (SELECT md5(concat_ws(' ', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    extract(epoch FROM pg_postmaster_start_time()))) FROM pg_control_system());
BEGIN
  IF NOT EXISTS (SELECT FROM server_runs WHERE run = running) THEN
    INSERT INTO server_runs (run) VALUES (running) ON CONFLICT (run) DO NOTHING;
  END IF;
  RETURN running;
END $$;
CREATE FUNCTION keep_last_number() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  running text := current_run();
BEGIN
  INSERT INTO kept_changes (user_id, run_id, last)
  SELECT old.user_id, id, old.last FROM server_runs WHERE run = running
  ON CONFLICT (user_id, run_id) DO NOTHING;
  RETURN new;
END $$;
CREATE TRIGGER keep_on_number BEFORE UPDATE OF last ON change_counters
  FOR EACH ROW WHEN (new.last > old.last) EXECUTE FUNCTION keep_last_number();
`

/** Cursors from before are 410 once. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The driver sends one statement at a time.
  yield* sql.unsafe(`DO $step$ BEGIN ${STEP} END $step$`)
})
