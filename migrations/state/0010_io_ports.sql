-- CAN interfaces, contacts and analogue channels of the board that people gave to the built-in module.
CREATE TABLE io_port (
  name          TEXT NOT NULL PRIMARY KEY,
  -- CAN, DIGITAL_INPUT, DIGITAL_OUTPUT, ANALOG_INPUT
  kind          TEXT NOT NULL,
  -- Interface, device file of a GPIO chip, or channel below /sys.
  path          TEXT NOT NULL,
  -- What means nothing for the kind is NULL.
  line          INTEGER,
  is_active_low INTEGER,
  bias          TEXT,
  debounce_ms   INTEGER
) STRICT, WITHOUT ROWID;
