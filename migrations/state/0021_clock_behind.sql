-- By how much a token goes ahead with the clock: it was moved back with it, or made while it was behind.
ALTER TABLE access_token ADD COLUMN behind_ms INTEGER NOT NULL DEFAULT 0;

-- One row while the clock is behind: it was put back, and has not gone ahead again.
CREATE TABLE clock_behind (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  behind_ms   INTEGER NOT NULL,
  -- what the clock showed when this was last known
  known_at_ms INTEGER NOT NULL
) STRICT;
