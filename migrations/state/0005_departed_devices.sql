-- Devices that history.db may still hold data of and that are no rows of device: deleted ones, whose data goes, and
-- unknown ones, as after the restore of an older backup, whose data is kept for a while.

CREATE TABLE departed_device (
  device_id     TEXT PRIMARY KEY,
  -- 1: deleted by a person
  is_deleted    INTEGER NOT NULL,
  -- how long the gateway ran without knowing it
  running_hours INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
