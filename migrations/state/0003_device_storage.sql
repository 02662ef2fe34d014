-- What the script of a device keeps, until the device is deleted.
CREATE TABLE device_storage (
  device_id TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     BLOB NOT NULL,
  PRIMARY KEY (device_id, key)
) STRICT, WITHOUT ROWID;
