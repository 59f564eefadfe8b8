-- Mails that wait for the provider, and how many an address got.

-- The payload is encrypted: its link is a secret. The mails of an account go with it.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bigint REFERENCES users ON DELETE CASCADE,
  payload text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- The provider recognises a mail by it that it is given again. The id would not do: a database that was restored from a
  -- backup counts on from there, and the provider would drop another mail.
  idempotency_key uuid NOT NULL DEFAULT gen_random_uuid(),
  created_at timestamptz NOT NULL, next_attempt_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
  -- A mail is counted once, however often it is tried.
  counted_at timestamptz
);
CREATE INDEX outbox_due_idx ON outbox (next_attempt_at);
CREATE INDEX outbox_user_idx ON outbox (user_id);

-- The recipient, and in `sent_from` the network that asked for each mail of `sent_at`, are keyed digests.
CREATE TABLE mail_quotas (
  recipient text PRIMARY KEY,
  sent_at timestamptz[] NOT NULL, sent_from text[] NOT NULL DEFAULT '{}',
  expires_at timestamptz NOT NULL
);
CREATE INDEX mail_quotas_expiry_idx ON mail_quotas (expires_at);
