-- What targets carry besides telemetry: which rows changed since, while a target wants their content. A row that changes
-- again moves to the end; what it says is read where it stands.
CREATE TABLE carried_content (
  content   TEXT NOT NULL PRIMARY KEY,
  is_wanted INTEGER NOT NULL,
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

-- How far a target got in each content: JSON, content -> number.
ALTER TABLE target_cursor ADD COLUMN records TEXT NOT NULL DEFAULT '{}';
