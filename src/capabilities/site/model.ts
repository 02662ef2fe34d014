/** The one site of the gateway. Source: docs/interface/http.md#sites. */
import type { EpochMs } from '../../lib/time.ts';

interface Location {
  readonly name?: string;
  /** Degrees, -90 to 90. */
  readonly latitude?: number;
  /** Degrees, -180 to 180. */
  readonly longitude?: number;
}

export interface SiteRecord {
  readonly id: string;
  readonly name: string;
  /** IANA name. */
  readonly timezone: string;
  /** Absent unless one of its members is set. */
  readonly location?: Location;
  /** Hides the site from lists; nothing else changes. */
  readonly archived: boolean;
  readonly createdAtMs: EpochMs;
}

export const RESETTABLE = ['location.name', 'location.latitude', 'location.longitude'] as const;

/** An absent member stays as it is. `reset` is done first, then the values are set. */
export interface SiteChange {
  name?: string | undefined;
  timezone?: string | undefined;
  location?: {
    /** The empty text is the same as none. */
    name?: string | undefined;
    latitude?: number | undefined;
    longitude?: number | undefined;
  };
  reset?: readonly (typeof RESETTABLE)[number][];
}

/** Emitted after the change is stored; a request that changes nothing emits nothing. */
export interface SiteEvents {
  site_updated: { site: SiteRecord; previous: SiteRecord };
}

export function changedSite(site: SiteRecord, change: SiteChange): SiteRecord {
  const { location: _location, ...rest } = site;
  const location = changedLocation(site.location ?? {}, change);
  return {
    ...rest,
    name: change.name ?? site.name,
    timezone: change.timezone ?? site.timezone,
    ...(Object.keys(location).length > 0 && { location }),
  };
}

function changedLocation(location: Location, { location: given = {}, reset = [] }: SiteChange): Location {
  const name = given.name ?? (reset.includes('location.name') ? undefined : location.name);
  const latitude = given.latitude ?? (reset.includes('location.latitude') ? undefined : location.latitude);
  const longitude =
    given.longitude ?? (reset.includes('location.longitude') ? undefined : location.longitude);
  return {
    ...(name !== undefined && name !== '' && { name }),
    ...(latitude !== undefined && { latitude }),
    ...(longitude !== undefined && { longitude }),
  };
}
