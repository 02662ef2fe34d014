-- state.db: small and precious. Moments are integer milliseconds since 1970 (UTC).

CREATE TABLE site (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  timezone      TEXT NOT NULL,
  location_name TEXT,
  latitude      REAL,
  longitude     REAL,
  archived      INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE user_account (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE COLLATE NOCASE,
  role          TEXT NOT NULL CHECK (role IN ('READONLY', 'USER', 'OWNER', 'INSTALLER')),
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
  role            TEXT NOT NULL CHECK (role IN ('READONLY', 'USER', 'OWNER', 'INSTALLER')),
  secret_sha256   BLOB NOT NULL UNIQUE CHECK (octet_length(secret_sha256) = 32),
  -- the user it acts for; NULL when the local command made it
  user_id         TEXT REFERENCES user_account (id) ON DELETE CASCADE,
  -- the token that made it
  parent_id       TEXT REFERENCES access_token (id) ON DELETE CASCADE,
  created_at_ms   INTEGER NOT NULL,
  expires_at_ms   INTEGER,
  last_used_at_ms INTEGER,
  -- by how much it goes ahead with the clock: it was moved back with it, or made while it was behind
  behind_ms       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX access_token_by_user ON access_token (user_id);
CREATE INDEX access_token_by_parent ON access_token (parent_id);

-- One row while the box waits to be claimed; claiming deletes it.
CREATE TABLE claim (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  code_sha256   BLOB NOT NULL CHECK (octet_length(code_sha256) = 32),
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
  target         TEXT NOT NULL CHECK (json_valid(target)),
  -- HTTP status of the answer; 0 for a local command
  status         INTEGER NOT NULL,
  remote_address TEXT
) STRICT;
CREATE INDEX audit_by_time ON audit (at_ms, number);
-- Entries of rules, scripts and targets, whose share of the audit trail is bounded.
CREATE INDEX audit_automatic ON audit (number) WHERE origin_kind IN ('rule', 'device', 'target');

CREATE TABLE blueprint (
  id            TEXT PRIMARY KEY,
  -- 'built_in' or 'uploaded'
  source        TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  -- of a built-in one: what it was compiled from and by; of one from the library: its files; NULL for other ones
  fingerprint   TEXT,
  -- compiled manifest as JSON
  manifest      TEXT NOT NULL CHECK (json_valid(manifest)),
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

-- Uploaded device templates; those of the library are files of the program.
CREATE TABLE library_template (
  id      TEXT PRIMARY KEY,
  -- YAML as uploaded
  content TEXT NOT NULL
) STRICT;

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
  -- how often a blueprint was assigned since it was made; NULL: never. A module that was away sees by it that its script
  -- begins anew, also with the same blueprint
  assignment_count   INTEGER,
  -- where people find it, and what they noted of it; NULL or empty: nothing
  room               TEXT,
  notes              TEXT,
  -- its place in lists; NULL: behind those that have one
  position           INTEGER,
  UNIQUE (hardware_id, channel_id)
) STRICT;
CREATE INDEX device_by_blueprint ON device (blueprint_id);
CREATE INDEX device_by_upstream ON device (upstream_id);

-- Photos and documents of devices. What they hold are the files documents/DEVICE_ID/ID of the data folder.
CREATE TABLE device_document (
  id            TEXT PRIMARY KEY,
  device_id     TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  media_type    TEXT NOT NULL,
  size_bytes    INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX device_document_by_device ON device_document (device_id, created_at_ms);

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
  sensitive     INTEGER NOT NULL CHECK (sensitive IN (0, 1)),
  updated_at_ms INTEGER NOT NULL,
  PRIMARY KEY (device_id, group_name, parameter)
) STRICT, WITHOUT ROWID;

CREATE TABLE device_credential (
  hardware_id     TEXT PRIMARY KEY,
  device_id       TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  salt            BLOB NOT NULL,
  password_sha256 BLOB NOT NULL CHECK (octet_length(password_sha256) = 32),
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
  ephemeral         INTEGER NOT NULL CHECK (ephemeral IN (0, 1)),
  created_at_ms     INTEGER NOT NULL,
  requested_name    TEXT NOT NULL,
  manifest_name     TEXT NOT NULL,
  -- JSON object, sensitive values masked
  arguments         TEXT NOT NULL,
  -- who asked: kind, id and name of the principal, JSON
  origin            TEXT NOT NULL CHECK (json_valid(origin)),
  -- the newest response that took part in the state; later ones stand in the log only
  response_sequence INTEGER,
  -- role that the blueprint asked of readers when it was made: another blueprint may not know the command; NULL: unknown
  read_role         TEXT
) STRICT;
CREATE INDEX execution_by_device ON execution (device_id, ephemeral, created_at_ms, id);
CREATE INDEX execution_by_creation ON execution (ephemeral, created_at_ms, id);
CREATE INDEX execution_unfinished ON execution (state) WHERE state IN ('NEW', 'IN_PROGRESS');
-- Hardly any: a list looks up what it must leave out.
CREATE INDEX execution_guarded ON execution (read_role, id) WHERE read_role IS NOT 'READONLY';

CREATE TABLE execution_response (
  execution_number INTEGER NOT NULL REFERENCES execution (number) ON DELETE CASCADE,
  sequence         INTEGER NOT NULL,
  state            TEXT NOT NULL,
  -- JSON object
  payload          TEXT NOT NULL,
  received_at_ms   INTEGER NOT NULL,
  PRIMARY KEY (execution_number, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE rule_engine (
  id        TEXT PRIMARY KEY,
  suspended INTEGER NOT NULL CHECK (suspended IN (0, 1))
) STRICT;

-- `number` grows with every rule: the order of starting, whatever the wall clock says.
CREATE TABLE rule (
  number           INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  slug             TEXT NOT NULL UNIQUE,
  disabled         INTEGER NOT NULL CHECK (disabled IN (0, 1)),
  runtime_version  TEXT NOT NULL,
  -- only for V1
  exec_interval_ms INTEGER,
  created_at_ms    INTEGER NOT NULL,
  updated_at_ms    INTEGER NOT NULL,
  -- Lua source
  code             TEXT NOT NULL,
  -- JSON: id and parameters of the strategy that the code is made from
  strategy         TEXT,
  -- whether its runs are traced; null: if it is made from a strategy
  traced           INTEGER CHECK (traced IN (0, 1))
) STRICT;

-- Scripts that a rule had and has; the newest one is its present script.
CREATE TABLE rule_version (
  number           INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  rule_id          TEXT NOT NULL REFERENCES rule (id) ON DELETE CASCADE,
  created_at_ms    INTEGER NOT NULL,
  -- name of who saved it
  saved_by         TEXT,
  runtime_version  TEXT NOT NULL,
  exec_interval_ms INTEGER,
  code             TEXT NOT NULL,
  strategy         TEXT
) STRICT;
CREATE INDEX rule_version_by_rule ON rule_version (rule_id, number);

-- `scope` is the id of a rule, or 'shared' or 'public' for what all rules share.
CREATE TABLE rule_storage (
  scope         TEXT NOT NULL,
  key           TEXT NOT NULL,
  -- JSON
  value         TEXT NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

-- What rules may set of devices: a set of commands of one device. One that is held ends with its safe command.
CREATE TABLE output (
  id             TEXT PRIMARY KEY,
  device_id      TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  -- tells outputs of one device apart that share commands; empty: there is one
  part           TEXT NOT NULL,
  -- names, as a JSON list
  commands       TEXT NOT NULL CHECK (json_valid(commands)),
  -- JSON: the command and its rule; NULL: nobody holds the output
  safe           TEXT,
  -- ids of the rules that made the last command, as a JSON list
  rule_ids       TEXT NOT NULL CHECK (json_valid(rule_ids))
) STRICT, WITHOUT ROWID;

-- Commands to outputs that differed from the one before, or had another result.
CREATE TABLE output_change (
  number     INTEGER PRIMARY KEY,
  output_id  TEXT NOT NULL REFERENCES output (id) ON DELETE CASCADE,
  at_ms      INTEGER NOT NULL,
  -- REQUEST, SAFE, or OTHER for a command that was not the arbiter's
  source     TEXT NOT NULL,
  -- JSON: name and arguments, sensitive values masked
  command    TEXT NOT NULL CHECK (json_valid(command)),
  -- JSON: kind, id and name of who asked
  origin     TEXT NOT NULL CHECK (json_valid(origin)),
  -- slugs of rules, as a JSON list
  limited_by TEXT NOT NULL CHECK (json_valid(limited_by)),
  -- NULL: the device has accepted it
  error      TEXT
) STRICT;
CREATE INDEX output_change_by_output ON output_change (output_id, number);

-- Values that the script of a device stores, until the device is deleted.
CREATE TABLE device_storage (
  device_id TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  value     BLOB NOT NULL,
  PRIMARY KEY (device_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE departed_device (
  device_id     TEXT PRIMARY KEY,
  -- 1: deleted by a person
  is_deleted    INTEGER NOT NULL CHECK (is_deleted IN (0, 1)),
  -- how long the gateway ran without knowing it
  running_hours INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Serial ports of the built-in module that people added; those of the option are not here.
CREATE TABLE serial_port (
  name      TEXT NOT NULL PRIMARY KEY,
  path      TEXT NOT NULL,
  baud_rate INTEGER NOT NULL,
  data_bits INTEGER NOT NULL,
  parity    TEXT NOT NULL,
  stop_bits INTEGER NOT NULL,
  -- Further names, as JSON.
  aliases   TEXT NOT NULL CHECK (json_valid(aliases))
) STRICT, WITHOUT ROWID;

-- Roles of devices in the site's energy, where no profile defines them.
CREATE TABLE energy_source (
  position        INTEGER PRIMARY KEY,
  role            TEXT NOT NULL,
  device_id       TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  -- names of attributes; NULL: there is none
  power           TEXT,
  -- 1: the attribute counts the other way round than the role
  is_inverted     INTEGER NOT NULL CHECK (is_inverted IN (0, 1)),
  state_of_charge TEXT,
  energy_forward  TEXT,
  energy_reverse  TEXT,
  -- W; larger values are left out; NULL: nobody said so
  power_max_w     REAL
) STRICT;

-- One row, as soon as somebody changed something.
CREATE TABLE energy_setting (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  gap_after_s INTEGER NOT NULL,
  -- W; larger values are left out
  power_max_w INTEGER NOT NULL
) STRICT;

-- One row, as soon as there was a tariff.
CREATE TABLE energy_currency (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  -- ISO 4217
  currency TEXT NOT NULL
) STRICT;

-- What energy costs and brings; each tariff holds until the next one begins.
CREATE TABLE energy_tariff (
  -- a day of the calendar of the site: 2026-01-01
  valid_from                TEXT PRIMARY KEY,
  -- JSON: kind, price or device and attribute, surcharge
  import_price              TEXT NOT NULL,
  -- NULL: not known
  export_price              TEXT,
  vat_percent               REAL NOT NULL,
  standing_charge_per_day   REAL NOT NULL,
  standing_charge_per_month REAL NOT NULL
) STRICT;

-- Alerts of devices, each from the moment it is raised to the moment it is cleared.
CREATE TABLE alert (
  -- grows with every alert, whatever the wall clock says
  number             INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE,
  device_id          TEXT NOT NULL REFERENCES device (id) ON DELETE CASCADE,
  -- DEVICE or GATEWAY
  source             TEXT NOT NULL,
  name               TEXT NOT NULL,
  -- as the manifest had them when it was raised
  severity           TEXT NOT NULL,
  display_name       TEXT NOT NULL,
  details            TEXT,
  -- 1: it was raised for longer than its grace period
  is_lasting         INTEGER NOT NULL CHECK (is_lasting IN (0, 1)),
  -- how often it came back within a moment
  times_raised       INTEGER NOT NULL,
  raised_at_ms       INTEGER NOT NULL,
  cleared_at_ms      INTEGER,
  acknowledged_at_ms INTEGER,
  acknowledged_by    TEXT,
  -- it counts as acknowledged until then; NULL: for good
  acknowledged_until_ms INTEGER,
  -- the least role that an attribute which reported it asked of readers; NULL: unknown, so it is the installer's
  read_role          TEXT
) STRICT;
CREATE UNIQUE INDEX alert_raised ON alert (device_id, source, name) WHERE cleared_at_ms IS NULL;
CREATE INDEX alert_by_time ON alert (raised_at_ms, number);
CREATE INDEX alert_by_device ON alert (device_id, raised_at_ms);

-- CAN interfaces, contacts and analogue channels of the board that people gave to the built-in module.
CREATE TABLE io_port (
  name          TEXT NOT NULL PRIMARY KEY,
  -- CAN, DIGITAL_INPUT, DIGITAL_OUTPUT, ANALOG_INPUT
  kind          TEXT NOT NULL,
  -- Interface, device file of a GPIO chip, or channel below /sys.
  path          TEXT NOT NULL,
  -- What means nothing for the kind is NULL.
  line          INTEGER,
  is_active_low INTEGER CHECK (is_active_low IN (0, 1)),
  bias          TEXT,
  debounce_ms   INTEGER
) STRICT, WITHOUT ROWID;

-- When backups are made by themselves and where they go: one row, as soon as somebody changed something.
CREATE TABLE backup_plan (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  schedule         TEXT NOT NULL,
  -- minutes since midnight, of the site's clock
  at_minute        INTEGER NOT NULL,
  target           TEXT,
  target_username  TEXT,
  target_password  TEXT,
  -- 1: the folder of the target was on another file system than the data when it was named
  is_mount         INTEGER NOT NULL CHECK (is_mount IN (0, 1)),
  -- seals the backups
  password         TEXT,
  include_history  INTEGER NOT NULL CHECK (include_history IN (0, 1)),
  keep             INTEGER NOT NULL,
  alert_after_days INTEGER NOT NULL,
  changed_at_ms    INTEGER NOT NULL
) STRICT;

-- The last backup that was opened and checked, and the last try: one row, of whoever made it.
CREATE TABLE backup_outcome (
  id           INTEGER PRIMARY KEY CHECK (id = 1),
  good_at_ms   INTEGER,
  good_name    TEXT,
  good_bytes   INTEGER,
  tried_at_ms  INTEGER NOT NULL,
  -- NULL: it is the good one
  fault        TEXT
) STRICT;

-- Where alerts are sent. Secrets are never shown, and leave the box to their servers only.
CREATE TABLE notification_channel (
  id               TEXT PRIMARY KEY,
  name             TEXT NOT NULL,
  kind             TEXT NOT NULL,
  is_enabled       INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  minimum_severity TEXT NOT NULL,
  -- JSON list; empty: all
  device_ids       TEXT NOT NULL CHECK (json_valid(device_ids)),
  notifies_cleared INTEGER NOT NULL CHECK (notifies_cleared IN (0, 1)),
  settings         TEXT NOT NULL CHECK (json_valid(settings)),
  secrets          TEXT NOT NULL CHECK (json_valid(secrets)),
  created_at_ms    INTEGER NOT NULL,
  -- changes that were dropped while nothing got through; the next message says how many
  omitted_count    INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Messages that were sent, or are tried again.
CREATE TABLE notification_delivery (
  number          INTEGER PRIMARY KEY,
  id              TEXT NOT NULL,
  channel_id      TEXT NOT NULL REFERENCES notification_channel (id) ON DELETE CASCADE,
  kind            TEXT NOT NULL,
  status          TEXT NOT NULL,
  raised_count    INTEGER NOT NULL,
  cleared_count   INTEGER NOT NULL,
  omitted_count   INTEGER NOT NULL,
  attempts        INTEGER NOT NULL,
  created_at_ms   INTEGER NOT NULL,
  attempted_at_ms INTEGER,
  error           TEXT,
  -- JSON: what a rule says; NULL: it is about alerts, or a test
  message         TEXT CHECK (json_valid(message))
) STRICT;
CREATE INDEX notification_delivery_by_channel ON notification_delivery (channel_id, number);

-- Alerts that channels have not sent yet.
CREATE TABLE notification_pending (
  number          INTEGER PRIMARY KEY,
  channel_id      TEXT NOT NULL REFERENCES notification_channel (id) ON DELETE CASCADE,
  alert_number    INTEGER NOT NULL REFERENCES alert (number) ON DELETE CASCADE,
  kind            TEXT NOT NULL,
  delivery_number INTEGER REFERENCES notification_delivery (number) ON DELETE CASCADE
) STRICT;
CREATE INDEX notification_pending_by_channel ON notification_pending (channel_id, delivery_number);
CREATE INDEX notification_pending_by_delivery ON notification_pending (delivery_number);
CREATE INDEX notification_pending_by_alert ON notification_pending (alert_number);

-- Where telemetry is copied to.
CREATE TABLE target (
  id            TEXT NOT NULL PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  kind          TEXT NOT NULL,
  is_enabled    INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  -- JSON by kind; secrets stand in a column of their own
  settings      TEXT NOT NULL CHECK (json_valid(settings)),
  secrets       TEXT NOT NULL CHECK (json_valid(secrets)),
  -- JSON: what is carried there, and how much at once
  selection     TEXT NOT NULL CHECK (json_valid(selection)),
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT;

-- How far it got: JSON of the position in the telemetry store, and of what was counted.
CREATE TABLE target_cursor (
  target_id TEXT NOT NULL PRIMARY KEY REFERENCES target (id) ON DELETE CASCADE,
  position  TEXT NOT NULL CHECK (json_valid(position)),
  totals    TEXT NOT NULL CHECK (json_valid(totals)),
  -- how far it got in each content: content -> number
  records   TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(records))
) STRICT, WITHOUT ROWID;

-- What targets carry besides telemetry: which rows changed since, while a target wants their content. A row that changes
-- again moves to the end; what it says is read where it stands.
CREATE TABLE carried_content (
  content   TEXT NOT NULL PRIMARY KEY,
  is_wanted INTEGER NOT NULL CHECK (is_wanted IN (0, 1)),
  -- number of the newest change; never given twice
  newest    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE carried_change (
  content TEXT NOT NULL,
  number  INTEGER NOT NULL,
  -- key of the row; of connectivity all there is to say, as JSON
  row_id  TEXT NOT NULL,
  PRIMARY KEY (content, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX carried_change_of_row ON carried_change (content, row_id);

-- Everything that is noted goes through here.
CREATE VIEW carried AS SELECT content, row_id FROM carried_change;
CREATE TRIGGER carried_noted INSTEAD OF INSERT ON carried
  WHEN EXISTS (SELECT 1 FROM carried_content WHERE content = new.content AND is_wanted) BEGIN
  UPDATE carried_content SET newest = newest + 1 WHERE content = new.content;
  DELETE FROM carried_change WHERE content = new.content AND row_id = CAST(new.row_id AS TEXT);
  INSERT OR REPLACE INTO carried_change (content, number, row_id)
    SELECT content, newest, CAST(new.row_id AS TEXT) FROM carried_content WHERE content = new.content;
END;
CREATE TRIGGER alert_carried_new AFTER INSERT ON alert BEGIN
  INSERT INTO carried (content, row_id) VALUES ('ALERTS', new.number);
END;
CREATE TRIGGER alert_carried AFTER UPDATE ON alert BEGIN
  INSERT INTO carried (content, row_id) VALUES ('ALERTS', new.number);
END;
CREATE TRIGGER execution_carried_new AFTER INSERT ON execution BEGIN
  INSERT INTO carried (content, row_id) VALUES ('EXECUTIONS', new.id);
END;
CREATE TRIGGER execution_carried AFTER UPDATE OF state ON execution BEGIN
  INSERT INTO carried (content, row_id) VALUES ('EXECUTIONS', new.id);
END;
CREATE TRIGGER device_property_carried_new AFTER INSERT ON device_property BEGIN
  INSERT INTO carried (content, row_id) VALUES ('PROPERTIES', new.device_id);
END;
CREATE TRIGGER device_property_carried AFTER UPDATE ON device_property BEGIN
  INSERT INTO carried (content, row_id) VALUES ('PROPERTIES', new.device_id);
END;
CREATE TRIGGER audit_carried AFTER INSERT ON audit BEGIN
  INSERT INTO carried (content, row_id) VALUES ('AUDIT', new.number);
END;

-- Commands that came from a target, remembered by the id that it gave: the same one is carried out once.
CREATE TABLE target_request (
  target_id     TEXT NOT NULL REFERENCES target (id) ON DELETE CASCADE,
  request_id    TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  -- JSON: id of the execution, or why there is none; empty until one of them is known
  outcome       TEXT NOT NULL CHECK (json_valid(outcome)),
  -- the broker has acknowledged the last answer
  is_told       INTEGER NOT NULL CHECK (is_told IN (0, 1)),
  PRIMARY KEY (target_id, request_id)
) STRICT, WITHOUT ROWID;

-- How often devices send, learned while they are connected.
CREATE TABLE device_rhythm (
  device_id         TEXT NOT NULL PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE,
  -- JSON: the longest pause of each of the last days on which it was heard, the oldest first
  longest_pauses_ms TEXT NOT NULL CHECK (json_valid(longest_pauses_ms))
) STRICT, WITHOUT ROWID;

-- One row while the clock is behind: it was put back, and has not gone ahead again.
CREATE TABLE clock_behind (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  behind_ms   INTEGER NOT NULL,
  -- what the clock showed when this was last known
  known_at_ms INTEGER NOT NULL
) STRICT;

-- Accounts of MQTT clients of other makers, which use topics of their own.
CREATE TABLE mqtt_guest (
  id              TEXT NOT NULL PRIMARY KEY,
  name            TEXT NOT NULL UNIQUE,
  username        TEXT NOT NULL UNIQUE,
  salt            BLOB NOT NULL,
  password_sha256 BLOB NOT NULL CHECK (octet_length(password_sha256) = 32),
  -- JSON: topic filters that it may publish to and subscribe to
  topics          TEXT NOT NULL CHECK (json_valid(topics)),
  created_at_ms   INTEGER NOT NULL
) STRICT;

-- What guests announced in the format of Home Assistant, as it was sent.
CREATE TABLE mqtt_announcement (
  guest_id TEXT NOT NULL REFERENCES mqtt_guest (id) ON DELETE CASCADE,
  topic    TEXT NOT NULL,
  payload  TEXT NOT NULL,
  PRIMARY KEY (guest_id, topic)
) STRICT, WITHOUT ROWID;

-- Which announced device became which device, or was set aside.
CREATE TABLE mqtt_announced_device (
  -- of the guest and of what identifies the device in its announcements
  id        TEXT NOT NULL PRIMARY KEY,
  guest_id  TEXT NOT NULL REFERENCES mqtt_guest (id) ON DELETE CASCADE,
  -- null: a person does not want it
  device_id TEXT REFERENCES device (id) ON DELETE CASCADE,
  -- SHA-256 of the manifest that was made of its announcements last
  manifest_sha256 TEXT
) STRICT, WITHOUT ROWID;
