import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE collections (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
      description text CHECK (char_length(description) <= 255),
      visibility text NOT NULL CHECK (visibility IN ('private', 'unlisted', 'public')),
      share_token text NOT NULL CONSTRAINT collections_share_token_key UNIQUE CHECK (share_token ~ '^[0-9a-f]{32}$'),
      version bigint NOT NULL DEFAULT 1,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      deleted_at timestamptz
    )`
  yield* sql`
    CREATE INDEX collections_owner_idx ON collections (user_id, created_at DESC, id DESC) WHERE deleted_at IS NULL`

  // Positions only order: they are rewritten with the whole order, so they may have gaps.
  yield* sql`
    CREATE TABLE collection_routes (
      collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
      route_id bigint NOT NULL REFERENCES routes ON DELETE CASCADE,
      position integer NOT NULL,
      PRIMARY KEY (collection_id, route_id)
    )`
  yield* sql`CREATE INDEX collection_routes_order_idx ON collection_routes (collection_id, position)`
  yield* sql`CREATE INDEX collection_routes_route_idx ON collection_routes (route_id)`

  // The first answer to a call that a client may repeat.
  yield* sql`
    CREATE TABLE idempotency_keys (
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      endpoint text NOT NULL,
      key text NOT NULL,
      request_hash text NOT NULL,
      status integer,
      body text,
      headers text,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (user_id, endpoint, key)
    )`
  yield* sql`CREATE INDEX idempotency_keys_age_idx ON idempotency_keys (created_at)`
})
