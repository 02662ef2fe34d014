-- Where telemetry is carried to.
CREATE TABLE target (
  id            TEXT NOT NULL PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  kind          TEXT NOT NULL,
  is_enabled    INTEGER NOT NULL,
  -- JSON by kind; secrets stand in a column of their own
  settings      TEXT NOT NULL,
  secrets       TEXT NOT NULL,
  -- JSON: what is carried there, and how much at once
  selection     TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;

-- How far it got: JSON of the position in the telemetry store, and of what was counted.
CREATE TABLE target_cursor (
  target_id TEXT NOT NULL PRIMARY KEY REFERENCES target (id) ON DELETE CASCADE,
  position  TEXT NOT NULL,
  totals    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
