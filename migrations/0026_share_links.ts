import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE share_links (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      route_id bigint REFERENCES routes ON DELETE CASCADE,
      collection_id bigint REFERENCES collections ON DELETE CASCADE,
      token text NOT NULL CONSTRAINT share_links_token_key UNIQUE CHECK (token ~ '^[0-9a-f]{32}$'),
      label text CHECK (char_length(label) BETWEEN 1 AND 100),
      allow_download boolean NOT NULL,
      expires_at timestamptz,
      uses bigint NOT NULL DEFAULT 0,
      last_used_at timestamptz,
      created_at timestamptz NOT NULL,
      CHECK (num_nonnulls(route_id, collection_id) = 1)
    )`
  yield* sql`CREATE INDEX share_links_route_idx ON share_links (route_id) WHERE route_id IS NOT NULL`
  yield* sql`CREATE INDEX share_links_collection_idx ON share_links (collection_id) WHERE collection_id IS NOT NULL`
  yield* sql`CREATE INDEX share_links_expiry_idx ON share_links (expires_at) WHERE expires_at IS NOT NULL`
})
