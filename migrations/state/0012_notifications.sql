-- Who outside is told of alerts. Secrets are never shown, and leave the box to their servers only.
CREATE TABLE notification_channel (
  id               TEXT PRIMARY KEY,
  name             TEXT NOT NULL,
  type             TEXT NOT NULL,
  is_enabled       INTEGER NOT NULL,
  minimum_severity TEXT NOT NULL,
  -- JSON list; empty: all
  device_ids       TEXT NOT NULL,
  notifies_cleared INTEGER NOT NULL,
  settings         TEXT NOT NULL,
  secrets          TEXT NOT NULL,
  created_at_ms    INTEGER NOT NULL
) STRICT;

-- What was sent, or is tried again.
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
  error           TEXT
) STRICT;
CREATE INDEX notification_delivery_by_channel ON notification_delivery (channel_id, number);

-- What channels are still to tell.
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
