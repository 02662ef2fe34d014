import type { Owner } from '../../../platform/sqlite/index.ts';

/** Which site a history.db belongs to. */
export function historyOwner(siteId: string): Owner {
  return {
    id: siteId,
    read: (database) =>
      database
        .prepare<[], { value: string }>(`SELECT value FROM telemetry_state WHERE name = 'site_id'`)
        .get()?.value,
    write: (database, id) =>
      void database
        .prepare<[string]>(`INSERT OR REPLACE INTO telemetry_state (name, value) VALUES ('site_id', ?)`)
        .run(id),
  };
}
