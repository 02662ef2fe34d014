/** Rows of accounts of MQTT clients of other makers. */
import { eq } from 'drizzle-orm';
import type { Database } from '../../platform/sqlite/index.ts';
import { mqttGuest } from './tables.ts';

export type StoredGuest = typeof mqttGuest.$inferSelect;

export function createGuestStore({ orm }: Database) {
  return {
    all: (): StoredGuest[] => orm.select().from(mqttGuest).orderBy(mqttGuest.name).all(),
    insert: (guest: StoredGuest): void => void orm.insert(mqttGuest).values(guest).run(),
    update: (guest: StoredGuest): void =>
      void orm.update(mqttGuest).set(guest).where(eq(mqttGuest.id, guest.id)).run(),
    remove: (id: string): void => void orm.delete(mqttGuest).where(eq(mqttGuest.id, id)).run(),
  };
}
