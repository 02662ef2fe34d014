-- state.db: small and precious. Moments are integer milliseconds since 1970 (UTC).

CREATE TABLE site (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  timezone      TEXT NOT NULL,
  location_name TEXT,
  latitude      REAL,
  longitude     REAL,
  archived      INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE user_account (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE COLLATE NOCASE,
  role          TEXT NOT NULL,
  -- argon2id in PHC form; NULL after access was reset, until the box is claimed again
  password_hash TEXT,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- Secrets are stored as hashes only; a token is shown once. Revoking deletes the row.
CREATE TABLE access_token (
  id              TEXT PRIMARY KEY,
  -- 'TOKEN', or 'SESSION' when a login made it
  kind            TEXT NOT NULL,
  name            TEXT NOT NULL,
  role            TEXT NOT NULL,
  secret_sha256   BLOB NOT NULL UNIQUE,
  -- the user it acts for; NULL when the local command made it
  user_id         TEXT REFERENCES user_account (id) ON DELETE CASCADE,
  -- the token that made it
  parent_id       TEXT REFERENCES access_token (id) ON DELETE CASCADE,
  created_at_ms   INTEGER NOT NULL,
  expires_at_ms   INTEGER,
  last_used_at_ms INTEGER
) STRICT;
CREATE INDEX access_token_by_user ON access_token (user_id);
CREATE INDEX access_token_by_parent ON access_token (parent_id);

-- One row while the box waits to be claimed; claiming deletes it.
CREATE TABLE claim (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  code_sha256   BLOB NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;

-- Who changed or commanded what. `number` grows with every entry, whatever the wall clock says.
CREATE TABLE audit (
  number         INTEGER PRIMARY KEY,
  at_ms          INTEGER NOT NULL,
  origin_kind    TEXT NOT NULL,
  origin_id      TEXT NOT NULL,
  origin_name    TEXT NOT NULL,
  operation      TEXT NOT NULL,
  -- JSON object: path parameter -> value
  target         TEXT NOT NULL,
  -- HTTP status of the answer; 0 for a local command
  status         INTEGER NOT NULL,
  remote_address TEXT
) STRICT;
CREATE INDEX audit_by_time ON audit (at_ms, number);

CREATE TABLE blueprint (
  id            TEXT PRIMARY KEY,
  -- 'built_in' or 'uploaded'
  source        TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  -- of a built-in one: what it was compiled from and by; NULL for uploaded ones
  fingerprint   TEXT,
  -- compiled manifest as JSON
  manifest      TEXT NOT NULL,
  -- compiled Lua file; NULL without a script
  script        BLOB,
  -- zip as uploaded; NULL for built-in ones. Last, because reading a column passes over those before it.
  original      BLOB
) STRICT;

-- Days of running that an uploaded blueprint was seen without a device. Apart from the blueprint, because
-- changing a row writes all of it.
CREATE TABLE blueprint_unused (
  blueprint_id TEXT PRIMARY KEY REFERENCES blueprint (id) ON DELETE CASCADE,
  days         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Uploaded device profiles; the built-in ones are files of the program.
CREATE TABLE device_profile (
  -- below the profile tree: energy/battery.yml
  path           TEXT PRIMARY KEY,
  content        TEXT NOT NULL,
  uploaded_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE device (
  id                 TEXT PRIMARY KEY,
  slug               TEXT NOT NULL UNIQUE,
  name               TEXT NOT NULL,
  type               TEXT NOT NULL,
  blueprint_id       TEXT NOT NULL REFERENCES blueprint (id),
  communication_type TEXT NOT NULL,
  upstream_id        TEXT REFERENCES device (id),
  hardware_id        TEXT,
  channel_id         TEXT,
  created_at_ms      INTEGER NOT NULL,
  updated_at_ms      INTEGER NOT NULL,
  UNIQUE (hardware_id, channel_id)
) STRICT;
CREATE INDEX device_by_blueprint ON device (blueprint_id);
CREATE INDEX device_by_upstream ON device (upstream_id);

CREATE TABLE device_property (
  device_id      TEXT PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE,
  -- JSON object: property name -> last value
  property_values TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL
) STRICT;

-- Values of configuration parameters that were set; defaults are in the manifest.
CREATE TABLE device_configuration (
  device_id     TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  group_name    TEXT NOT NULL,
  parameter     TEXT NOT NULL,
  -- JSON
  value         TEXT NOT NULL,
  -- what the manifest said when it was set
  type          TEXT NOT NULL,
  sensitive     INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (device_id, group_name, parameter)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_credential (
  hardware_id     TEXT PRIMARY KEY,
  device_id       TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  salt            BLOB NOT NULL,
  password_sha256 BLOB NOT NULL,
  created_at_ms   INTEGER NOT NULL
) STRICT;
CREATE INDEX device_credential_by_device ON device_credential (device_id);

-- Client certificates that were issued and not revoked; the keys are nowhere.
CREATE TABLE device_certificate (
  -- SHA-256, lower-case hexadecimal
  fingerprint   TEXT PRIMARY KEY,
  serial        TEXT NOT NULL,
  hardware_id   TEXT NOT NULL,
  device_id     TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX device_certificate_by_hardware ON device_certificate (hardware_id);
CREATE INDEX device_certificate_by_device ON device_certificate (device_id);

-- One command sent to one device. `number` grows with every command, whatever the wall clock says.
CREATE TABLE execution (
  number            INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  device_id         TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  state             TEXT NOT NULL,
  ephemeral         INTEGER NOT NULL,
  created_at_ms     INTEGER NOT NULL,
  requested_name    TEXT NOT NULL,
  manifest_name     TEXT NOT NULL,
  -- JSON object, sensitive values masked
  arguments         TEXT NOT NULL,
  -- who asked: kind, id and name of the principal, JSON
  origin            TEXT NOT NULL,
  -- the newest response that took part in the state; later ones stand in the log only
  response_sequence INTEGER
) STRICT;
CREATE INDEX execution_by_device ON execution (device_id, ephemeral, created_at_ms, id);
CREATE INDEX execution_by_creation ON execution (ephemeral, created_at_ms, id);
CREATE INDEX execution_unfinished ON execution (state) WHERE state IN ('NEW', 'IN_PROGRESS');

CREATE TABLE execution_response (
  execution_number INTEGER NOT NULL REFERENCES execution (number) ON DELETE CASCADE,
  sequence         INTEGER NOT NULL,
  state            TEXT NOT NULL,
  -- JSON object
  payload          TEXT NOT NULL,
  received_at_ms   INTEGER NOT NULL,
  PRIMARY KEY (execution_number, sequence)
) STRICT, WITHOUT ROWID;
