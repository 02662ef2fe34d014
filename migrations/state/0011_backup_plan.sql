-- When backups are made by themselves and where they go: one row, as soon as somebody changed something.
CREATE TABLE backup_plan (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  schedule         TEXT NOT NULL,
  -- minutes since midnight, of the site's clock
  at_minute        INTEGER NOT NULL,
  target           TEXT,
  target_username  TEXT,
  target_password  TEXT,
  -- 1: the folder of the target was on another file system than the data when it was named
  is_mount         INTEGER NOT NULL,
  -- seals the backups
  password         TEXT,
  include_history  INTEGER NOT NULL,
  keep             INTEGER NOT NULL,
  alert_after_days INTEGER NOT NULL,
  changed_at_ms    INTEGER NOT NULL
) STRICT;

-- The last backup that was opened and checked, and the last try: one row, of whoever made it.
CREATE TABLE backup_outcome (
  id           INTEGER PRIMARY KEY CHECK (id = 1),
  good_at_ms   INTEGER,
  good_name    TEXT,
  good_bytes   INTEGER,
  tried_at_ms  INTEGER NOT NULL,
  -- NULL: it is the good one
  fault        TEXT
) STRICT;
