import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createSite, resolveSiteId, type Site } from '../../../src/capabilities/site/index.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import type { Database } from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

function start(t: TestContext): { site: Site; restart: () => Site; database: Database; lines: LogLine[] } {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const database = openMigrated('state', {
    path: join(temporaryFolder(t), 'state.db'),
    clock,
    log,
  });
  t.after(() => database.close());
  let ids = 0;
  const open = (defaultName: string, defaultTimezone: string): Site =>
    createSite({ database, clock, log, newId: () => `site-${++ids}`, defaultName, defaultTimezone });
  const site = open(' Depot\u00A0', 'Europe/Berlin');
  return { site, restart: () => open('Other', 'UTC'), database, lines };
}

describe('the site', () => {
  test('the site is made once, with the defaults of the first start', (t) => {
    const { site, restart } = start(t);
    assert.deepEqual(site.get(), {
      id: 'site-1',
      name: 'Depot',
      timezone: 'Europe/Berlin',
      archived: false,
      createdAtMs: Date.UTC(2026, 2, 1, 8),
    });
    assert.deepEqual(restart().get(), site.get());
  });

  test('the site keeps every change over a restart', (t) => {
    const { site, restart } = start(t);
    site.update({ name: 'Yard', timezone: 'Asia/Tokyo', location: { latitude: -0.5, longitude: 0 } });
    assert.deepEqual(restart().get(), site.get());
    assert.deepEqual(site.get().location, { latitude: -0.5, longitude: 0 });
    site.update({ location: { name: 'Hall' }, reset: ['location.latitude'] });
    site.setArchived(true);
    assert.deepEqual(restart().get(), site.get());
    assert.deepEqual(site.get().location, { name: 'Hall', longitude: 0 });
    site.update({ reset: ['location.name', 'location.longitude'] });
    site.setArchived(false);
    const { location, archived } = restart().get();
    assert.deepEqual([location, archived], [undefined, false]);
  });

  test('the site stays as it was, and nothing is told, when the disk does not take a change', (t) => {
    const { site, database } = start(t);
    let told = 0;
    site.events.on('site_updated', 'test', () => told++);
    const before = site.get();
    database
      .prepare(`CREATE TRIGGER full BEFORE UPDATE ON site BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
      .run();
    assert.throws(() => site.update({ name: 'Yard' }), /disk full/);
    assert.deepEqual([site.get(), told], [before, 0]);
  });

  test('a change of the site reaches every listener although one fails', (t) => {
    const { site, lines } = start(t);
    const told: string[] = [];
    site.events.on('site_updated', 'first', () => {
      throw new Error('no');
    });
    site.events.on('site_updated', 'second', ({ site: now }) => told.push(now.name));
    site.update({ name: 'Yard' });
    assert.deepEqual(told, ['Yard']);
    assert.equal(lines.find(({ message }) => message === 'listener failed')?.['owner'], 'first');
  });

  test('the site is the only one that a path can name', (t) => {
    const { site } = start(t);
    const resolve = resolveSiteId(site);
    assert.equal(resolve('site-1'), 'site-1');
    for (const wrong of ['site-2', 'SITE-1', '', '__proto__'])
      assert.throws(
        () => resolve(wrong),
        (error) => error instanceof GatewayError && error.code === 'site_not_found',
      );
  });
});
