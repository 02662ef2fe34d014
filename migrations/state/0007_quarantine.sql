-- Rows of other tables that a start could not read, as they were; they stay for a person to look at.
CREATE TABLE quarantine (
  number      INTEGER PRIMARY KEY,
  found_at_ms INTEGER NOT NULL,
  table_name  TEXT NOT NULL,
  -- JSON object: column -> value; a BLOB is an object with its bytes as hexadecimal
  row         TEXT NOT NULL,
  -- column, and what was wrong with it
  reason      TEXT NOT NULL,
  -- 1: the row is still in its table, with other values in the columns that could not be read
  repaired    INTEGER NOT NULL
) STRICT;
