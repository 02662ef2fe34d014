/** Rows of documents. */
import { sum } from 'drizzle-orm';
import { countOf, type Database, given, placeholders } from '../../platform/sqlite/index.ts';
import { deviceDocument } from './tables.ts';

export type StoredDocument = typeof deviceDocument.$inferSelect;

export function createDocumentStore({ orm }: Database) {
  const { id, deviceId, createdAtMs, sizeBytes } = deviceDocument;
  const selectOf = orm
    .select()
    .from(deviceDocument)
    .where(given(deviceId))
    .orderBy(createdAtMs, id)
    .prepare();
  const select = orm.select().from(deviceDocument).where(given(id)).prepare();
  const selectSize = orm
    .select({ bytes: sum(sizeBytes).mapWith(Number) })
    .from(deviceDocument)
    .prepare();
  const insert = orm.insert(deviceDocument).values(placeholders(deviceDocument)).prepare();
  const remove = orm.delete(deviceDocument).where(given(id)).prepare();
  const countOfDevice = countOf(orm, deviceDocument, given(deviceId));
  return {
    /** The oldest first. */
    of: (ofDevice: string): StoredDocument[] => selectOf.all({ deviceId: ofDevice }),
    get: (wanted: string): StoredDocument | undefined => select.get({ id: wanted }),
    count: (ofDevice: string): number => countOfDevice({ deviceId: ofDevice }),
    /** Bytes of the documents of all devices. */
    totalBytes: (): number => selectSize.get()?.bytes ?? 0,
    insert: (document: StoredDocument): void => void insert.run(document),
    remove: (wanted: string): void => void remove.run({ id: wanted }),
  };
}
