-- The rule engine of the site, its rules, and what they keep between runs.

CREATE TABLE rule_engine (
  id        TEXT PRIMARY KEY,
  suspended INTEGER NOT NULL
) STRICT;

-- `number` grows with every rule: the order of starting, whatever the wall clock says.
CREATE TABLE rule (
  number           INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  slug             TEXT NOT NULL UNIQUE,
  disabled         INTEGER NOT NULL,
  runtime_version  TEXT NOT NULL,
  -- only for V1
  exec_interval_ms INTEGER,
  created_at_ms    INTEGER NOT NULL,
  updated_at_ms    INTEGER NOT NULL,
  -- Lua source
  code             TEXT NOT NULL
) STRICT;

-- `scope` is the id of a rule, or 'shared' or 'public' for what all rules share.
CREATE TABLE rule_storage (
  scope         TEXT NOT NULL,
  key           TEXT NOT NULL,
  -- JSON
  value         TEXT NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
