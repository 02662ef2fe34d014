-- Changes that a channel could not keep while nothing got through: the next message says how many, after a restart as well.
ALTER TABLE notification_channel ADD COLUMN omitted_count INTEGER NOT NULL DEFAULT 0;
