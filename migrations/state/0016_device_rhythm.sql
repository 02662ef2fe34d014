-- How often devices send, learned while they are connected.
CREATE TABLE device_rhythm (
  device_id         TEXT NOT NULL PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE,
  -- JSON: the longest pause of each of the last days on which it was heard, the oldest first
  longest_pauses_ms TEXT NOT NULL
) STRICT, WITHOUT ROWID;
