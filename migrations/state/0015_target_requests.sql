-- Commands that came from a target, remembered by the id that it gave: the same one is carried out once.
CREATE TABLE target_request (
  target_id     TEXT NOT NULL REFERENCES target (id) ON DELETE CASCADE,
  request_id    TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  -- JSON: id of the execution, or why there is none; empty until one of them is known
  outcome       TEXT NOT NULL,
  -- the broker has acknowledged the last answer
  is_told       INTEGER NOT NULL,
  PRIMARY KEY (target_id, request_id)
) STRICT, WITHOUT ROWID;

-- Commands from above are done by machines, too: their share of the audit trail is kept in bounds like that of rules.
DROP INDEX audit_automatic;
CREATE INDEX audit_automatic ON audit (number) WHERE origin_kind IN ('rule', 'device', 'target');
