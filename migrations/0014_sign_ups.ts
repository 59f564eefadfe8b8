import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`SET LOCAL statement_timeout = 0`

  // An account comes to be when a link is used, with the name and the address of the sign-up that the link was mailed for:
  // until then nobody sees a profile or finds a handle taken. Any number of sign-ups of one address may be pending.
  yield* sql`
    CREATE TABLE sign_ups (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      email text NOT NULL CHECK (char_length(email) <= 254),
      email_key text NOT NULL CHECK (char_length(email_key) <= 320),
      name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
      password_hash text,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL,
      token_hash text
    )`
  yield* sql`
    ALTER TABLE email_tokens
      ALTER COLUMN user_id DROP NOT NULL,
      ADD COLUMN sign_up_id bigint REFERENCES sign_ups ON DELETE CASCADE,
      ADD CONSTRAINT email_tokens_owner_check CHECK (num_nonnulls(user_id, sign_up_id) = 1)`

  // Accounts that nobody has proven become sign-ups, with the links that were mailed. email_tokens.password_hash stays for
  // processes of the version before, which still read and write it during a rollout.
  const unproven = sql`
    u.email_verified_at IS NULL AND u.deletion_requested_at IS NULL
      AND NOT EXISTS (SELECT FROM identities i WHERE i.user_id = u.id)
      AND NOT EXISTS (SELECT FROM personal_access_tokens p WHERE p.user_id = u.id)
      AND NOT EXISTS (SELECT FROM routes r WHERE r.user_id = u.id)
      AND NOT EXISTS (SELECT FROM collections c WHERE c.user_id = u.id)`
  yield* sql`
    INSERT INTO sign_ups (email, email_key, name, password_hash, created_at, expires_at, token_hash)
    SELECT u.email, u.email_key, u.name, t.password_hash, coalesce(t.created_at, u.created_at),
      greatest(coalesce(t.created_at, u.created_at) + interval '7 days', t.expires_at), t.token_hash
    FROM users u LEFT JOIN email_tokens t ON t.user_id = u.id AND t.purpose = 'verify-email' AND t.used_at IS NULL
    WHERE ${unproven}`
  yield* sql`
    UPDATE email_tokens t SET user_id = NULL, sign_up_id = s.id FROM sign_ups s WHERE s.token_hash = t.token_hash`
  yield* sql`ALTER TABLE sign_ups DROP COLUMN token_hash`
  // Mails that are waiting to be sent and what was audited would go with the user.
  yield* sql`UPDATE outbox o SET user_id = NULL FROM users u WHERE u.id = o.user_id AND ${unproven}`
  yield* sql`UPDATE audit_events a SET user_id = NULL FROM users u WHERE u.id = a.user_id AND ${unproven}`
  yield* sql`DELETE FROM users u WHERE ${unproven}`

  yield* sql`CREATE INDEX sign_ups_address_idx ON sign_ups (email_key, created_at DESC, id DESC)`
  yield* sql`CREATE INDEX sign_ups_expiry_idx ON sign_ups (expires_at)`
  yield* sql`CREATE INDEX email_tokens_sign_up_idx ON email_tokens (sign_up_id)`
  // What the purge looks for, and what leaves nothing to look for in an ordinary table of users.
  yield* sql`CREATE INDEX users_unproven_idx ON users (created_at) WHERE email_verified_at IS NULL`

  // When mails were sent to an address, of which only a keyed digest is here. A mail is counted once, however often it is
  // tried.
  yield* sql`
    CREATE TABLE mail_quotas (
      recipient text PRIMARY KEY,
      sent_at timestamptz[] NOT NULL,
      expires_at timestamptz NOT NULL
    )`
  yield* sql`CREATE INDEX mail_quotas_expiry_idx ON mail_quotas (expires_at)`
  yield* sql`ALTER TABLE outbox ADD COLUMN counted_at timestamptz`

  // Device cookies of before are void.
  yield* sql`ALTER TABLE users ADD COLUMN devices_revoked_at timestamptz`
})
