/** Rows of announcements and of the devices that were made of them. */
import { and, eq } from 'drizzle-orm';
import { type Database, upsert } from '../../platform/sqlite/index.ts';
import { mqttAnnouncedDevice, mqttAnnouncement } from './tables.ts';

type StoredAnnouncement = typeof mqttAnnouncement.$inferSelect;
export type StoredDecision = typeof mqttAnnouncedDevice.$inferSelect;

export function createAnnouncementStore(database: Database) {
  const { orm } = database;
  const put = upsert(database, mqttAnnouncement);
  const decide = upsert(database, mqttAnnouncedDevice);
  return {
    announcements: (): StoredAnnouncement[] => orm.select().from(mqttAnnouncement).all(),
    decisions: (): StoredDecision[] => orm.select().from(mqttAnnouncedDevice).all(),
    put: (announcement: StoredAnnouncement): void => void put.run({ ...announcement }),
    remove: ({ guestId, topic }: Pick<StoredAnnouncement, 'guestId' | 'topic'>): void =>
      void orm
        .delete(mqttAnnouncement)
        .where(and(eq(mqttAnnouncement.guestId, guestId), eq(mqttAnnouncement.topic, topic)))
        .run(),
    decide: (decision: StoredDecision): void => void decide.run({ ...decision }),
    undecide: (id: string): void =>
      void orm.delete(mqttAnnouncedDevice).where(eq(mqttAnnouncedDevice.id, id)).run(),
  };
}
