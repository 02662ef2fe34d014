-- Newest log entries of each rule.

CREATE TABLE rule_log (
  number         INTEGER PRIMARY KEY,
  rule_id        TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL,
  -- place in the list of severities
  severity       INTEGER NOT NULL,
  message        TEXT NOT NULL
) STRICT;
CREATE INDEX rule_log_by_rule ON rule_log (rule_id, number);
