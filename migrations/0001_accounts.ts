import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE users (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      email text NOT NULL CHECK (char_length(email) <= 254),
      email_key text NOT NULL CONSTRAINT users_email_key UNIQUE CHECK (char_length(email_key) <= 320),
      email_verified_at timestamptz,
      password_hash text,
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
      handle text NOT NULL CONSTRAINT users_handle_key UNIQUE CHECK (handle ~ '^[a-z0-9-]{3,30}$'),
      avatar text CHECK (char_length(avatar) <= 2048),
      preferences jsonb,
      deletion_requested_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    )`

  yield* sql`
    CREATE TABLE sessions (
      id uuid PRIMARY KEY,
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      user_agent text,
      ip_address text,
      created_at timestamptz NOT NULL,
      last_seen_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      revoked_at timestamptz
    )`
  yield* sql`CREATE INDEX sessions_live_idx ON sessions (user_id, created_at DESC, id DESC) WHERE revoked_at IS NULL`

  // A sign-up's password waits in its token: it becomes the account's only when the mailbox is proven by that very link,
  // so that nobody can wait with a password of theirs in an account registered for another person's address.
  yield* sql`
    CREATE TABLE email_tokens (
      token_hash text PRIMARY KEY,
      user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
      purpose text NOT NULL CHECK (purpose IN ('verify-email', 'reset-password')),
      password_hash text,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      used_at timestamptz
    )`
  yield* sql`CREATE INDEX email_tokens_user_idx ON email_tokens (user_id, purpose, created_at DESC)`
})
