import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE identities (
      issuer text NOT NULL,
      subject text NOT NULL,
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      created_at timestamptz NOT NULL,
      CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject),
      CONSTRAINT identities_user_key UNIQUE (user_id, issuer)
    )`

  // An ID token signs in once; what is remembered of it is forgotten when it expires.
  yield* sql`CREATE TABLE used_id_tokens (token_hash text PRIMARY KEY, expires_at timestamptz NOT NULL)`
  yield* sql`CREATE INDEX used_id_tokens_expiry_idx ON used_id_tokens (expires_at)`

  yield* sql`
    CREATE TABLE personal_access_tokens (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
      scope text NOT NULL CHECK (scope IN ('read', 'write')),
      token_hash text NOT NULL CONSTRAINT personal_access_tokens_hash_key UNIQUE,
      hint text NOT NULL,
      created_at timestamptz NOT NULL,
      expires_at timestamptz,
      last_used_at timestamptz
    )`
  yield* sql`CREATE INDEX personal_access_tokens_user_idx ON personal_access_tokens (user_id, id DESC)`

  // Mails wait here until the provider has taken them. The payload is encrypted: its link is a secret.
  yield* sql`
    CREATE TABLE outbox (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      payload text NOT NULL,
      attempts integer NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL,
      next_attempt_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    )`
  yield* sql`CREATE INDEX outbox_due_idx ON outbox (next_attempt_at)`
})
