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
  persist        INTEGER NOT NULL,
  message        TEXT NOT NULL
) STRICT;
-- One index for everything: windows in order, counts without touching a row, retention by age and number.
CREATE INDEX device_log_in_order ON device_log (device_number, persist, received_at_ms, id, severity);
