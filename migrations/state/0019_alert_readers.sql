-- Role of who may see an alert: the least that any attribute asked that told it, as its blueprint said then. NULL: nobody
-- knows which one told it, so it is the installer's. That is so of those of earlier versions, but for what the gateway says
-- itself and for names of a blueprint without any guarded attribute of alerts; one that is still raised is judged anew by
-- what tells it.
ALTER TABLE alert ADD COLUMN read_role TEXT;

CREATE TEMP TABLE guarded AS
  SELECT device.id AS device_id, max(lower(json_extract(item.value, '$.access_level')) IN ('vendor', 'system')) AS is_vendors
  FROM device JOIN blueprint ON blueprint.id = device.blueprint_id,
    json_each(CASE WHEN json_valid(manifest) THEN manifest ELSE '{}' END, '$.telemetry') AS item
  WHERE json_extract(item.value, '$.type') = 'alerts' AND lower(json_extract(item.value, '$.access_level')) != 'readonly'
  GROUP BY device.id;

UPDATE alert SET read_role = 'READONLY' WHERE source = 'GATEWAY';
UPDATE alert SET read_role = 'VENDOR' WHERE source = 'DEVICE' AND cleared_at_ms IS NOT NULL
  AND device_id IN (SELECT device_id FROM guarded WHERE is_vendors);
UPDATE alert SET read_role = 'READONLY' WHERE source = 'DEVICE' AND device_id NOT IN (SELECT device_id FROM guarded)
  AND (device_id, name) IN (
    SELECT device.id, item.key FROM device JOIN blueprint ON blueprint.id = device.blueprint_id,
      json_each(CASE WHEN json_valid(manifest) THEN manifest ELSE '{}' END, '$.alerts') AS item);

DROP TABLE guarded;
