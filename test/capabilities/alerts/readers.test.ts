/** Who may see alerts of versions that did not keep it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { readMigrations } from '../../../src/platform/sqlite/index.ts';
import { MIGRATIONS_DIR } from '../../support/workspace.ts';

const ALERTS_DECLARED = { low: { severity: 'info' } };
const attribute = (type: string, level: string) => ({ type, access_level: level });
const alerts = attribute('alerts', 'readonly');

const MANIFESTS = {
  open: { telemetry: { alerts, power: attribute('float', 'installer') }, alerts: ALERTS_DECLARED },
  guarded: { telemetry: { alerts, service: attribute('alerts', 'Owner') }, alerts: ALERTS_DECLARED },
  vendors: {
    telemetry: { alerts, factory: attribute('alerts', 'VENDOR'), service: attribute('alerts', 'user') },
    alerts: ALERTS_DECLARED,
  },
  empty: { telemetry: { alerts }, alerts: {} },
};

test('is whoever may read all that could have told them, and not known where nobody can tell', () => {
  const database = new BetterSqlite3(':memory:');
  const migrations = readMigrations(join(MIGRATIONS_DIR, 'state'));
  const readers = migrations.findIndex(({ name }) => name.includes('alert_readers'));
  for (const { sql } of migrations.slice(0, readers)) database.exec(sql);
  const texts = Object.entries(MANIFESTS).map(([slug, manifest]) => [slug, JSON.stringify(manifest)]);
  for (const [slug, manifest] of [...texts, ['torn', '{"telemetry":']]) {
    database
      .prepare(`INSERT INTO blueprint (id, source, created_at_ms, manifest) VALUES (?, 'uploaded', 0, ?)`)
      .run(slug, manifest);
    database
      .prepare(
        `INSERT INTO device (id, slug, name, type, blueprint_id, communication_type, created_at_ms, updated_at_ms)
        VALUES (@slug, @slug, @slug, 'STANDALONE', @slug, 'MQTT_V1_PLAINTEXT', 0, 0)`,
      )
      .run({ slug });
    for (const [source, name] of [
      ['DEVICE', 'low'],
      ['DEVICE', 'made_up'],
      ['GATEWAY', 'offline'],
    ])
      database
        .prepare(
          `INSERT INTO alert (id, device_id, source, name, severity, display_name, is_lasting, times_raised, raised_at_ms, cleared_at_ms)
          VALUES (@slug || @name, @slug, @source, @name, 'info', @name, 1, 1, 0, @clearedAtMs)`,
        )
        .run({ slug, source, name, clearedAtMs: name === 'made_up' ? null : 1 });
  }
  for (const { sql } of migrations.slice(readers)) database.exec(sql);
  const roles = database.prepare('SELECT id, read_role FROM alert').raw().all() as [string, string | null][];
  assert.deepEqual(Object.fromEntries(roles), {
    openlow: 'READONLY',
    openmade_up: null,
    openoffline: 'READONLY',
    guardedlow: null,
    guardedmade_up: null,
    guardedoffline: 'READONLY',
    vendorslow: 'VENDOR',
    vendorsmade_up: null,
    vendorsoffline: 'READONLY',
    emptylow: null,
    emptymade_up: null,
    emptyoffline: 'READONLY',
    tornlow: null,
    tornmade_up: null,
    tornoffline: 'READONLY',
  });
});
