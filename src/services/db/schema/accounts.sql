-- Accounts, and everything by which somebody signs in. A row of `users` has a proven address; before that there is a sign-up.

CREATE TABLE users (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email text NOT NULL CHECK (char_length(email) <= 254),
  email_key text NOT NULL CONSTRAINT users_email_key UNIQUE CHECK (char_length(email_key) <= 320),
  email_verified_at timestamptz NOT NULL,
  password_hash text,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  handle text NOT NULL CHECK (handle ~ '^[a-z0-9-]{3,30}$'),
  avatar text CHECK (char_length(avatar) <= 2048),
  preferences jsonb,
  -- The privacy zones that others see the routes by. Null: none, which costs a read by others one comparison.
  zones_revision bigint,
  -- Device cookies from before are void.
  devices_revoked_at timestamptz,
  deletion_requested_at timestamptz,
  created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL
);
-- With a condition no foreign key could refer to a handle, so a new one does not wait for transactions that add rows of the account.
CREATE UNIQUE INDEX users_handle_key ON users (handle) WHERE handle IS NOT NULL;
CREATE INDEX users_deletion_idx ON users (deletion_requested_at) WHERE deletion_requested_at IS NOT NULL;
CREATE INDEX users_zones_idx ON users (id) WHERE zones_revision IS NOT NULL;

-- The erasure of an account looks for all rows that refer to it, so each table has an index that begins with the user.
CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  user_agent text, ip_address text,
  created_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, revoked_at timestamptz
);
CREATE INDEX sessions_live_idx ON sessions (user_id, created_at DESC, id DESC) WHERE revoked_at IS NULL;
CREATE INDEX sessions_user_idx ON sessions (user_id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);

-- Any number of sign-ups of one address may be pending. The link that is used first makes an account of its own.
CREATE TABLE sign_ups (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email text NOT NULL CHECK (char_length(email) <= 254),
  email_key text NOT NULL CHECK (char_length(email_key) <= 320),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  password_hash text,
  -- An invitation makes an account also where strangers may not sign up.
  is_invited boolean NOT NULL DEFAULT false,
  network text CHECK (char_length(network) <= 45),
  created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL
);
CREATE INDEX sign_ups_address_idx ON sign_ups (email_key, created_at DESC, id DESC);
CREATE INDEX sign_ups_expiry_idx ON sign_ups (expires_at);

-- Mailed links, by the digest of their token.
CREATE TABLE email_tokens (
  token_hash text PRIMARY KEY,
  user_id bigint REFERENCES users ON DELETE CASCADE,
  sign_up_id bigint REFERENCES sign_ups ON DELETE CASCADE,
  purpose text NOT NULL CHECK (purpose IN ('verify-email', 'reset-password')),
  created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, used_at timestamptz,
  CONSTRAINT email_tokens_owner_check CHECK (num_nonnulls(user_id, sign_up_id) = 1)
);
CREATE INDEX email_tokens_user_idx ON email_tokens (user_id, purpose, created_at DESC);
CREATE INDEX email_tokens_sign_up_idx ON email_tokens (sign_up_id);
CREATE INDEX email_tokens_expiry_idx ON email_tokens (expires_at);

CREATE TABLE identities (
  issuer text NOT NULL, subject text NOT NULL,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL,
  CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject),
  CONSTRAINT identities_user_key UNIQUE (user_id, issuer)
);

CREATE TABLE personal_access_tokens (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  scope text NOT NULL CHECK (scope IN ('read', 'write')),
  token_hash text NOT NULL CONSTRAINT personal_access_tokens_hash_key UNIQUE, hint text NOT NULL,
  created_at timestamptz NOT NULL, expires_at timestamptz, last_used_at timestamptz, expiry_mailed_at timestamptz
);
CREATE INDEX personal_access_tokens_user_idx ON personal_access_tokens (user_id, id DESC);
CREATE INDEX personal_access_tokens_expiry_idx ON personal_access_tokens (expires_at) WHERE expires_at IS NOT NULL;

-- A revoked token is kept here for a while, so that the response that refuses it says why.
CREATE TABLE revoked_tokens (
  token_hash text PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  revoked_at timestamptz NOT NULL
);
CREATE INDEX revoked_tokens_user_idx ON revoked_tokens (user_id);
CREATE INDEX revoked_tokens_revoked_idx ON revoked_tokens (revoked_at);

-- An entry of an erased account's own actions goes with it; an entry of an action on it stays, without its name.
CREATE TABLE audit_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at timestamptz NOT NULL, event text NOT NULL,
  user_id bigint REFERENCES users ON DELETE CASCADE,
  subject_id bigint REFERENCES users ON DELETE SET NULL,
  trace_id text
);
CREATE INDEX audit_events_user_idx ON audit_events (user_id, id DESC);
CREATE INDEX audit_events_subject_idx ON audit_events (subject_id, id DESC);
CREATE INDEX audit_events_expiry_idx ON audit_events (created_at);
