-- history.db: large, group commits, degradable. No reference to state.db: a deleted device's rows are
-- removed by the capability that wrote them.

-- A small number instead of the 36 characters of an id in every row and index entry.
CREATE TABLE log_device (
  number    INTEGER PRIMARY KEY,
  device_id TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE device_log (
  id             INTEGER PRIMARY KEY,
  device_number  INTEGER NOT NULL REFERENCES log_device (number),
  -- receipt at the broker, the sort key; never decreasing per device within one run
  received_at_ms INTEGER NOT NULL,
  -- the device's own time, Unix seconds
  device_time_s  INTEGER,
  -- 0 debug, 1 info, 2 warning, 3 error
  severity       INTEGER NOT NULL,
  persist        INTEGER NOT NULL CHECK (persist IN (0, 1)),
  message        TEXT NOT NULL
) STRICT;
-- One index for everything: windows in order, counts without touching a row, retention by age and number.
CREATE INDEX device_log_in_order ON device_log (device_number, persist, received_at_ms, id, severity);

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

-- Newest log entries of each rule.

CREATE TABLE rule_log (
  number         INTEGER PRIMARY KEY,
  rule_id        TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL,
  -- place in the list of severities
  severity       INTEGER NOT NULL,
  message        TEXT NOT NULL
) STRICT;
CREATE INDEX rule_log_by_rule ON rule_log (rule_id, number);

-- Bytes of the logs of each device and of each rule, so that none of them costs the others their room. Kept by
-- triggers: whoever writes or deletes an entry need not know. 64 bytes stand for columns, keys and index of an entry.

CREATE TABLE device_log_size (
  device_number INTEGER PRIMARY KEY,
  size_bytes    INTEGER NOT NULL
) STRICT;

CREATE TRIGGER device_log_added AFTER INSERT ON device_log BEGIN
  INSERT INTO device_log_size (device_number, size_bytes)
    VALUES (new.device_number, octet_length(new.message) + 64)
    ON CONFLICT (device_number) DO UPDATE SET size_bytes = size_bytes + excluded.size_bytes;
END;
CREATE TRIGGER device_log_removed AFTER DELETE ON device_log BEGIN
  UPDATE device_log_size SET size_bytes = size_bytes - octet_length(old.message) - 64
    WHERE device_number = old.device_number;
END;
CREATE TRIGGER log_device_removed AFTER DELETE ON log_device BEGIN
  DELETE FROM device_log_size WHERE device_number = old.number;
END;

CREATE TABLE rule_log_size (
  rule_id    TEXT PRIMARY KEY,
  size_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER rule_log_added AFTER INSERT ON rule_log BEGIN
  INSERT INTO rule_log_size (rule_id, size_bytes)
    VALUES (new.rule_id, octet_length(new.message) + 64)
    ON CONFLICT (rule_id) DO UPDATE SET size_bytes = size_bytes + excluded.size_bytes;
END;
CREATE TRIGGER rule_log_removed AFTER DELETE ON rule_log BEGIN
  UPDATE rule_log_size SET size_bytes = size_bytes - octet_length(old.message) - 64
    WHERE rule_id = old.rule_id;
END;

-- What each sealing of the journal brought, while somebody who reads changes has not passed it. The sequence is that
-- of the last journal record in it.
CREATE TABLE telemetry_change (
  sequence  INTEGER PRIMARY KEY,
  -- wall clock when the first of it came, Unix seconds
  since_s   INTEGER NOT NULL,
  samples   INTEGER NOT NULL,
  directory BLOB NOT NULL
) STRICT;
