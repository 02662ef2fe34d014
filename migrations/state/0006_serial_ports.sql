-- Serial ports of the built-in module that people added; those of the option are not here.
CREATE TABLE serial_port (
  name      TEXT NOT NULL PRIMARY KEY,
  path      TEXT NOT NULL,
  baud_rate INTEGER NOT NULL,
  data_bits INTEGER NOT NULL,
  parity    TEXT NOT NULL,
  stop_bits INTEGER NOT NULL,
  -- Further names, as JSON.
  aliases   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
