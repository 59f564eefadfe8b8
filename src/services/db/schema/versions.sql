-- Versions of the service beside each other.

-- The oldest version that may run on this database, by the newest migration that it knows. A migration that removes what a
-- version uses raises it in the same transaction.
CREATE TABLE oldest_version (id boolean PRIMARY KEY DEFAULT true CHECK (id), migration integer NOT NULL);
INSERT INTO oldest_version (migration) VALUES (43);
