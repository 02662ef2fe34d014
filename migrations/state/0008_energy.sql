-- What devices are to the site where no profile says so: the owner said it once.
CREATE TABLE energy_source (
  position        INTEGER PRIMARY KEY,
  role            TEXT NOT NULL,
  device_id       TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  -- names of attributes; NULL: there is none
  power           TEXT,
  -- 1: the attribute counts the other way round than the role
  is_inverted     INTEGER NOT NULL,
  state_of_charge TEXT,
  energy_forward  TEXT,
  energy_reverse  TEXT
) STRICT;

-- One row, as soon as somebody changed something.
CREATE TABLE energy_setting (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  gap_after_s INTEGER NOT NULL
) STRICT;
