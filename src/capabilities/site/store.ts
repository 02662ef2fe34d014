/** The one row of table `site`. */
import { type Database, excluded, placeholders, present } from '../../platform/sqlite/index.ts';
import type { SiteRecord } from './model.ts';
import { site } from './tables.ts';

export type SiteStore = ReturnType<typeof createSiteStore>;

export function createSiteStore({ orm }: Database) {
  const location = { name: site.locationName, latitude: site.latitude, longitude: site.longitude };
  const { id, name, timezone, archived, createdAtMs } = site;
  const select = orm
    .select({ id, name, timezone, archived, createdAtMs, location })
    .from(site)
    .orderBy(createdAtMs)
    .limit(1)
    .prepare();
  const put = orm
    .insert(site)
    .values(placeholders(site))
    .onConflictDoUpdate({
      target: id,
      set: excluded(site, 'name', 'timezone', 'locationName', 'latitude', 'longitude', 'archived'),
    })
    .prepare();

  return {
    /** Undefined before the first start. */
    get(): SiteRecord | undefined {
      const row = select.get();
      if (!row) return undefined;
      const { location: columns, ...rest } = row;
      const known = present(columns);
      return { ...rest, ...(Object.keys(known).length > 0 && { location: known }) };
    },
    put({ location: known, ...rest }: SiteRecord): void {
      const { name: locationName = null, latitude = null, longitude = null } = known ?? {};
      put.run({ ...rest, locationName, latitude, longitude });
    },
  };
}
