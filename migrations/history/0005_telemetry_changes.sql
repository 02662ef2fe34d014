-- What each sealing of the journal brought, while somebody who reads changes has not passed it. The sequence is that
-- of the last journal record in it.
CREATE TABLE telemetry_change (
  sequence  INTEGER PRIMARY KEY,
  -- wall clock when the first of it came, Unix seconds
  since_s   INTEGER NOT NULL,
  samples   INTEGER NOT NULL,
  directory BLOB NOT NULL
) STRICT;
