import { randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { notFound } from '../../lib/errors.ts';
import { normalizedName } from '../../lib/text.ts';
import { canonicalTimeZone } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { changedSite, type SiteChange, type SiteEvents, type SiteRecord } from './model.ts';
import { createSiteStore } from './store.ts';

interface SiteOptions {
  database: Database;
  clock: Clock;
  log: Log;
  newId?: () => string;
  /** Name and IANA time zone of the site that the first start creates. */
  defaultName: string;
  defaultTimezone: string;
}

/** The use cases of the one site. The record is in memory; reading never touches the disk. */
export type Site = ReturnType<typeof createSite>;

/** Loads the site; makes it when the database has none. */
export function createSite(options: SiteOptions) {
  const { database, clock, log, newId = randomUUID } = options;
  const store = createSiteStore(database);
  const events = new Emitter<SiteEvents>(log);
  const loaded = loadedSite();
  let site = loaded ?? makeSite();

  function loadedSite(): SiteRecord | undefined {
    const stored = store.get();
    const timezone = stored && canonicalTimeZone(stored.timezone);
    if (stored && timezone === undefined)
      log.warn('the time zone of the site is no IANA name, set another one', { timezone: stored.timezone });
    if (!stored || timezone === undefined || timezone === stored.timezone) return stored;
    const corrected = { ...stored, timezone };
    store.put(corrected);
    return corrected;
  }

  function makeSite(): SiteRecord {
    const made: SiteRecord = {
      id: newId(),
      name: normalizedName(options.defaultName),
      timezone: canonicalTimeZone(options.defaultTimezone) ?? options.defaultTimezone,
      archived: false,
      createdAtMs: clock.wallMs(),
    };
    store.put(made);
    log.info('site made', { site_id: made.id, name: made.name, timezone: made.timezone });
    return made;
  }

  function change(next: SiteRecord): SiteRecord {
    const previous = site;
    if (JSON.stringify(next) === JSON.stringify(previous)) return previous;
    database.transaction(() => {
      store.put(next);
      database.afterCommit(() => {
        site = next;
        log.info('site changed', { site_id: next.id });
        events.emit('site_updated', { site: next, previous });
      });
    });
    return next;
  }

  return {
    events,
    /** This start has created it. */
    isNew: loaded === undefined,
    get: () => site,
    /** Returns the site as it is then; values are checked by the caller. */
    update: (changes: SiteChange) => change(changedSite(site, changes)),
    /** Idempotent. */
    setArchived: (archived: boolean) => change({ ...site, archived }),
  };
}

/** Checks the path parameter `site_id`: returned as it is, or @throws GatewayError site_not_found (404) */
export function resolveSiteId(site: Site): (value: string) => string {
  return (value) => {
    if (value !== site.get().id) throw notFound('site_not_found', `There is no site "${value}" here.`);
    return value;
  };
}
