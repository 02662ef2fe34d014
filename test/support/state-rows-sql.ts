/** Rows of state.db for the tables that a fresh gateway with one device, `battery`, leaves empty. */
export const STATE_ROWS_SQL = `
  INSERT INTO user_account VALUES ('user', 'Ida', 'OWNER', 'hash', 1);
  INSERT INTO access_token VALUES ('parent', 'TOKEN', 'p', 'OWNER', zeroblob(32), 'user', NULL, 1, NULL, NULL, 0);
  INSERT INTO access_token VALUES ('child', 'TOKEN', 'c', 'OWNER', randomblob(32), 'user', 'parent', 1, 9e12, 2, 0);
  INSERT INTO clock_behind VALUES (1, 60000, 1);
  INSERT OR REPLACE INTO claim VALUES (1, zeroblob(32), 1);
  INSERT INTO blueprint VALUES ('own', 'uploaded', 1, NULL,
    (SELECT manifest FROM blueprint LIMIT 1), CAST('return 1' AS BLOB), zeroblob(9));
  UPDATE blueprint SET fingerprint = 'of another version' WHERE id != 'own';
  INSERT INTO blueprint_unused VALUES ('own', 3);
  INSERT INTO device_profile VALUES ('depot/pump.yml', 'blueprint_spec: profile/1.0', 1);
  UPDATE device SET blueprint_id = 'own', room = 'Cellar', notes = 'Key at the door.', position = 0, upstream_id = (SELECT id FROM device WHERE type = 'VIRTUAL_UCM')
    WHERE slug = 'battery';
  INSERT OR REPLACE INTO device_property SELECT id, '{"a":1}', 1 FROM device WHERE slug = 'battery';
  INSERT INTO device_configuration SELECT id, 'group', 'parameter', '5', 'integer', 1, 1 FROM device WHERE slug = 'battery';
  INSERT INTO device_document SELECT 'photo', id, 'Type plate', 'image/jpeg', 3, 1 FROM device WHERE slug = 'battery';
  INSERT INTO device_certificate SELECT 'ab', '01', 'HW', id, 1 FROM device WHERE slug = 'battery';
  INSERT INTO device_storage SELECT id, 'key', x'01' FROM device WHERE slug = 'battery';
  INSERT INTO execution SELECT 7, 'run', id, 'SUCCESS', 0, 1, 'go', 'go', '{}',
    '{"kind":"user","id":"user","name":"Ida"}', 1, 'USER' FROM device WHERE slug = 'battery';
  INSERT INTO execution_response VALUES (7, 1, 'SUCCEEDED', '{}', 1);
  INSERT INTO rule VALUES (1, 'rule', 'night', 1, 'V3', 1000, 1, 1, 'return true',
    '{"id":"daily","parameters":{"at":"22:00"}}', 1);
  INSERT INTO energy_source SELECT 1, 'battery', id, 'power', 0, NULL, NULL, NULL, 20000 FROM device WHERE slug = 'battery';
  INSERT INTO energy_setting VALUES (1, 60, 10000000);
  INSERT INTO energy_currency VALUES (1, 'EUR');
  INSERT INTO energy_tariff VALUES ('2026-01-01', '{"kind":"FIXED","price":0.3,"lowPrice":null,"lowTimes":null,"deviceId":null,"attribute":null,"surchargePerKwh":0}', NULL, 19, 0, 9.9);
  INSERT INTO alert SELECT 7, 'seven', id, 'DEVICE', 'low', 'warning', 'Low', 'so', 1, 1, 1, 2, 3, 'Ida', 4, 'OWNER'
    FROM device WHERE slug = 'battery';
  INSERT INTO device_rhythm SELECT id, '[60000,61000]' FROM device WHERE slug = 'battery';
  INSERT INTO notification_channel VALUES ('hook', 'Hook', 'WEBHOOK', 1, 'info', '[]', 1,
    '{"origin":"http://127.0.0.1:9"}', '{"url":"http://127.0.0.1:9/"}', 1, 3);
  INSERT INTO notification_delivery VALUES (7, 'seven', 'hook', 'ALERTS', 'RETRYING', 1, 0, 0, 1, 1, 2, 'No.', NULL);
  INSERT INTO notification_pending VALUES (7, 'hook', 7, 'RAISED', 7);
  INSERT INTO library_template VALUES ('own-meter', 'template: device/1');
  INSERT INTO mqtt_guest VALUES ('guest', 'Plug', 'plug', randomblob(16), zeroblob(32), '["tele/plug/#"]', 1);
  INSERT INTO mqtt_announcement VALUES ('guest', 'homeassistant/switch/plug/config', '{}');
  INSERT INTO mqtt_announced_device VALUES ('announced', 'guest', NULL, NULL);
  INSERT INTO departed_device VALUES ('gone', 1, 5);
  INSERT INTO serial_port VALUES ('rs485', '/dev/ttyS0', 9600, 8, 'N', 1, '["meter"]');
  INSERT INTO io_port VALUES ('di-1', 'DIGITAL_INPUT', '/dev/gpiochip0', 17, 1, 'PULL_UP', 5);
  INSERT INTO target VALUES ('engine', 'Engine', 'MQTT', 0,
    '{"kind":"MQTT","url":"mqtt://127.0.0.1:9","clientId":"","username":null,"caPem":null,"certificatePem":null,"form":"PLAIN","topic":"a","payload":"b","isRetained":false,"discoveryPrefix":"c"}',
    '{}', '{"devices":null,"attributes":null,"intervalS":0,"isOnChange":false,"bytesPerSecondMax":1024,"processorPercentMax":50,"fromMs":0}', 1, 1);
  INSERT INTO target_cursor VALUES ('engine', '{"sequence":0}', '{"samples":0,"bytes":0,"lostSamples":0,"refusedSamples":0}', '{}');
  INSERT INTO target_request VALUES ('engine', 'r1', 1, '{}', 1);
  INSERT INTO carried_content VALUES ('ALERTS', 0, 1);
  INSERT INTO carried_change VALUES ('ALERTS', 1, 'gone');
  INSERT INTO rule_version VALUES (1, 'version', 'rule', 1, 'anna', 'V3', NULL, 'return true', NULL);
  INSERT INTO rule_storage VALUES ('rule', 'key', '1');
  INSERT INTO output SELECT '5b0a3a5c-3e0b-4d4e-8a5f-0d6a4c1f2b34', id, '', '["set_mode"]', NULL, '["rule"]'
    FROM device WHERE slug = 'battery';
  INSERT INTO output_change VALUES (1, '5b0a3a5c-3e0b-4d4e-8a5f-0d6a4c1f2b34', 1, 'SAFE',
    '{"name":"set_mode","arguments":{}}', '{"kind":"rule","id":"rule","name":"night"}', '[]', NULL);
  INSERT INTO backup_plan VALUES (1, 'DAILY', 120, '/mnt/stick', NULL, NULL, 1, 'secret', 0, 7, 3, 1);
  INSERT INTO backup_outcome VALUES (1, 1, 'a.age', 10, 1, NULL);
  INSERT INTO audit VALUES (9000, 1, 'user', 'user', 'Ida', 'create_rule', '{}', 200, '127.0.0.1');
  UPDATE site SET location_name = 'Yard', latitude = 1.5, longitude = 2;
`;
