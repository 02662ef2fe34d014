/** Tables of state.db with what guests announced, and what became of it. */
import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** As it was sent. */
export const mqttAnnouncement = sqliteTable(
  'mqtt_announcement',
  {
    guestId: text('guest_id').notNull(),
    topic: text('topic').notNull(),
    payload: text('payload').notNull(),
  },
  (table) => [primaryKey({ columns: [table.guestId, table.topic] })],
);

export const mqttAnnouncedDevice = sqliteTable('mqtt_announced_device', {
  id: text('id').primaryKey(),
  guestId: text('guest_id').notNull(),
  /** Null: a person does not want it. */
  deviceId: text('device_id'),
  /** Digest of the manifest made of the last announcements; another manifest is assigned when they change. */
  manifestSha256: text('manifest_sha256'),
});
