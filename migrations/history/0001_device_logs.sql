-- history.db: large, group commits, degradable. No reference to state.db: a deleted device's rows are
-- removed by the capability that wrote them.

CREATE TABLE device_log (
  id             INTEGER PRIMARY KEY,
  device_id      TEXT NOT NULL,
  -- receipt at the broker, the sort key; never decreasing per device within one run
  received_at_ms INTEGER NOT NULL,
  -- the device's own time, Unix seconds
  device_time_s  INTEGER,
  severity       TEXT NOT NULL,
  persist        INTEGER NOT NULL,
  message        TEXT NOT NULL
) STRICT;
CREATE INDEX device_log_by_device ON device_log (device_id, received_at_ms, id);
CREATE INDEX device_log_by_age ON device_log (persist, received_at_ms);
