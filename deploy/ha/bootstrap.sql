-- The limits are those that the service sets for its sessions, which PgBouncer does not pass on.
CREATE ROLE service LOGIN PASSWORD '${PASSWORD}';
ALTER ROLE service SET statement_timeout = 5000;
ALTER ROLE service SET lock_timeout = 2000;
ALTER ROLE service SET idle_in_transaction_session_timeout = 10000;
CREATE DATABASE routes OWNER service;
