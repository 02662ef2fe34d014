-- Alerts of devices, each from the moment it is raised to the moment it is cleared.
CREATE TABLE alert (
  -- grows with every alert, whatever the wall clock says
  number             INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  device_id          TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  -- who says so: the device, or the gateway of it
  source             TEXT NOT NULL,
  name               TEXT NOT NULL,
  -- as the manifest had them when it was raised
  severity           TEXT NOT NULL,
  display_name       TEXT NOT NULL,
  details            TEXT,
  -- 1: it was raised for longer than its grace period
  is_lasting         INTEGER NOT NULL,
  -- how often it came back within a moment
  times_raised       INTEGER NOT NULL,
  raised_at_ms       INTEGER NOT NULL,
  cleared_at_ms      INTEGER,
  acknowledged_at_ms INTEGER,
  acknowledged_by    TEXT
) STRICT;
CREATE UNIQUE INDEX alert_raised ON alert (device_id, source, name) WHERE cleared_at_ms IS NULL;
CREATE INDEX alert_by_time ON alert (raised_at_ms, number);
CREATE INDEX alert_by_device ON alert (device_id, raised_at_ms);
