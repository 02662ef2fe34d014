-- Blocks of telemetry (format: src/capabilities/telemetry/FORMAT.md). What is newer stands in the journal.

-- One attribute of one device with one type. Ids are never used again.
CREATE TABLE telemetry_series (
  id        INTEGER PRIMARY KEY,
  device_id TEXT NOT NULL,
  attribute TEXT NOT NULL,
  type      TEXT NOT NULL,
  UNIQUE (device_id, attribute, type)
) STRICT;

-- Parts: the samples of one series and day out of one sealing of the journal, in order of sealing.
CREATE TABLE telemetry_part (
  id   INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

-- What the parts of one sealing are.
CREATE TABLE telemetry_generation (
  id        INTEGER PRIMARY KEY,
  directory BLOB NOT NULL
) STRICT;

-- One day of one series: resolution 1 are its samples, 60 and 900 are roll-ups in seconds. Days count from 1970.
CREATE TABLE telemetry_block (
  series_id    INTEGER NOT NULL,
  resolution_s INTEGER NOT NULL,
  day          INTEGER NOT NULL,
  data         BLOB NOT NULL,
  PRIMARY KEY (series_id, resolution_s, day)
) STRICT, WITHOUT ROWID;

-- Where the store stands: journal_sequence, journal_from, next_series_id, next_part_id, retention_day, latest.
CREATE TABLE telemetry_state (
  name  TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
