-- Bytes of the logs of each device and of each rule, so that none of them costs the others their room. Kept by
-- triggers: whoever writes or deletes an entry need not know. 64 bytes stand for columns, keys and index of an entry.

CREATE TABLE device_log_size (
  device_number INTEGER PRIMARY KEY,
  size_bytes    INTEGER NOT NULL
) STRICT;
INSERT INTO device_log_size (device_number, size_bytes)
  SELECT device_number, sum(octet_length(message) + 64) FROM device_log GROUP BY device_number;

CREATE TRIGGER device_log_added AFTER INSERT ON device_log BEGIN
  INSERT INTO device_log_size (device_number, size_bytes)
    VALUES (new.device_number, octet_length(new.message) + 64)
    ON CONFLICT (device_number) DO UPDATE SET size_bytes = size_bytes + excluded.size_bytes;
END;
CREATE TRIGGER device_log_removed AFTER DELETE ON device_log BEGIN
  UPDATE device_log_size SET size_bytes = size_bytes - octet_length(old.message) - 64
    WHERE device_number = old.device_number;
END;
CREATE TRIGGER log_device_removed AFTER DELETE ON log_device BEGIN
  DELETE FROM device_log_size WHERE device_number = old.number;
END;

CREATE TABLE rule_log_size (
  rule_id    TEXT PRIMARY KEY,
  size_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO rule_log_size (rule_id, size_bytes)
  SELECT rule_id, sum(octet_length(message) + 64) FROM rule_log GROUP BY rule_id;

CREATE TRIGGER rule_log_added AFTER INSERT ON rule_log BEGIN
  INSERT INTO rule_log_size (rule_id, size_bytes)
    VALUES (new.rule_id, octet_length(new.message) + 64)
    ON CONFLICT (rule_id) DO UPDATE SET size_bytes = size_bytes + excluded.size_bytes;
END;
CREATE TRIGGER rule_log_removed AFTER DELETE ON rule_log BEGIN
  UPDATE rule_log_size SET size_bytes = size_bytes - octet_length(old.message) - 64
    WHERE rule_id = old.rule_id;
END;
