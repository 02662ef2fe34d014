/** The one row of table `site`. */
import { type Database, present, upsert } from '../../platform/sqlite/index.ts';
import type { SiteRecord } from './model.ts';
import { site } from './tables.ts';

export function createSiteStore({ orm }: Database) {
  const location = { name: site.locationName, latitude: site.latitude, longitude: site.longitude };
  const { id, name, timezone, archived, createdAtMs } = site;
  const select = orm
    .select({ id, name, timezone, archived, createdAtMs, location })
    .from(site)
    .orderBy(createdAtMs)
    .limit(1)
    .prepare();
  const put = upsert({ orm }, site, 'createdAtMs');

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
