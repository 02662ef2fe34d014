/** The one row of table `site` in state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { SiteRecord } from './model.ts';

interface Row {
  id: string;
  name: string;
  timezone: string;
  location_name: string | null;
  latitude: number | null;
  longitude: number | null;
  archived: number;
  created_at_ms: number;
}

export type SiteStore = ReturnType<typeof createSiteStore>;

export function createSiteStore(database: Database) {
  const select = database.prepare<[], Row>('SELECT * FROM site ORDER BY created_at_ms LIMIT 1');
  const put = database.prepare<Row>(
    `INSERT INTO site (id, name, timezone, location_name, latitude, longitude, archived, created_at_ms)
     VALUES (:id, :name, :timezone, :location_name, :latitude, :longitude, :archived, :created_at_ms)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, timezone = excluded.timezone,
       location_name = excluded.location_name, latitude = excluded.latitude, longitude = excluded.longitude,
       archived = excluded.archived`,
  );
  return {
    /** Undefined before the first start. */
    get: (): SiteRecord | undefined => {
      const row = select.get();
      return row && fromRow(row);
    },
    put: (site: SiteRecord): void => void put.run(toRow(site)),
  };
}

function fromRow(row: Row): SiteRecord {
  const location = {
    ...(row.location_name !== null && { name: row.location_name }),
    ...(row.latitude !== null && { latitude: row.latitude }),
    ...(row.longitude !== null && { longitude: row.longitude }),
  };
  return {
    id: row.id,
    name: row.name,
    timezone: row.timezone,
    ...(Object.keys(location).length > 0 && { location }),
    archived: row.archived === 1,
    createdAtMs: row.created_at_ms,
  };
}

function toRow({ id, name, timezone, location, archived, createdAtMs }: SiteRecord): Row {
  return {
    id,
    name,
    timezone,
    location_name: location?.name ?? null,
    latitude: location?.latitude ?? null,
    longitude: location?.longitude ?? null,
    archived: archived ? 1 : 0,
    created_at_ms: createdAtMs,
  };
}
