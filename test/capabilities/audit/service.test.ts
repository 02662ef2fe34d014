import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { Audit, createLocalAudit } from '../../../src/capabilities/audit/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics/index.ts';
import type { ScarceRoom } from '../../../src/platform/retention/index.ts';
import { createGroupCommit, type Database } from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const DAY_MS = 86_400_000;

interface Setup {
  audit: Audit;
  clock: TestClock;
  database: Database;
  metrics: Metrics;
  record: (operation: string, status?: number) => Promise<void>;
  operations: () => string[];
}

function start(
  t: TestContext,
  more: Partial<Limits['audit']> = {},
  clock = new TestClock(),
  room?: ScarceRoom,
): Setup {
  const { log } = recordingLog(clock);
  const metrics = createMetrics();
  const database = openMigrated('state', {
    path: join(temporaryFolder(t), 'state.db'),
    clock,
    log,
  });
  t.after(() => database.close());
  const commits = createGroupCommit({ database, name: 'state', clock, log, metrics });
  const audit = new Audit({
    database,
    commits,
    clock,
    log,
    metrics,
    limits: { ...LIMITS.audit, ...more },
    room,
  });
  audit.start();
  t.after(() => audit.stop());
  return {
    audit,
    clock,
    database,
    metrics,
    record: (operation, status = 200) =>
      audit.record({
        operation,
        principal: undefined,
        params: {},
        status,
        remoteAddress: '10.0.0.1',
      }),
    operations: () => audit.list({}, 1_000, 0).entries.map(({ operation }) => operation),
  };
}

describe('an entry of the audit trail', () => {
  test('an entry of the audit trail is on disk before the change is answered', async (t) => {
    const { record, operations } = start(t);
    await record('update_site');
    assert.deepEqual(operations(), ['update_site']);
  });

  test('an entry of the audit trail tells when something was last done, not when it was refused', async (t) => {
    const { audit, clock, record } = start(t);
    assert.equal(audit.lastDoneMs('create_backup'), undefined);
    await record('create_backup');
    const doneMs = clock.wallMs();
    await clock.advance(DAY_MS);
    await record('create_backup', 409);
    await record('update_site');
    await clock.advance(LIMITS.commits.windowMaxMs);
    assert.equal(audit.lastDoneMs('create_backup'), doneMs);
  });

  test('an entry of the audit trail costs no sync of its own for a refusal', async (t) => {
    const { clock, record, operations } = start(t);
    await record('update_site', 403);
    assert.deepEqual(operations(), []);
    await clock.advance(LIMITS.commits.windowMaxMs);
    assert.deepEqual(operations(), ['update_site']);
  });

  test('an entry of the audit trail does not hold up the answer when the disk takes no data, and is written once it does', async (t) => {
    const { clock, database, record, operations } = start(t);
    database
      .prepare(`CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END`)
      .run();
    await record('update_site');
    assert.deepEqual(operations(), []);
    database.prepare('DROP TRIGGER full').run();
    await clock.advance(2 * LIMITS.commits.retryMs);
    assert.deepEqual(operations(), ['update_site']);
  });

  test('an entry of the audit trail is dropped and counted when too many wait for the disk', async (t) => {
    const { database, metrics, record } = start(t, { waiting: 2 });
    database
      .prepare(`CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END`)
      .run();
    for (let count = 0; count < 3; count++) await record('update_site');
    assert.match(await metrics.text(), /gateway_audit_dropped_total\{reason="disk"\} 1/);
  });

  test('an entry of the audit trail is kept for some of a flood of refusals, and the others are counted; changes are all kept', async (t) => {
    const { audit, clock, metrics, record, operations } = start(t);
    const { refusalsOfOne, refusalSummaryIntervalMs } = LIMITS.audit;
    for (let count = 0; count < refusalsOfOne + 5; count++) await record('login', 403);
    await record('update_site');
    assert.equal(operations().length, refusalsOfOne + 1);
    assert.match(await metrics.text(), /gateway_audit_dropped_total\{reason="flood"\} 5/);
    await clock.advance(2 * refusalSummaryIntervalMs);
    const [summary, ...others] = audit.list({}, 100, 0).entries;
    assert.deepEqual(
      [summary?.operation, summary?.target, summary?.status, summary?.remoteAddress],
      ['refusals_omitted', { count: '5', last_operation: 'login' }, 403, '10.0.0.1'],
    );
    assert.equal(others.length, refusalsOfOne + 1, 'told once');
  });

  test('an entry of the audit trail is not hidden by a flood of refusals of another address or person', async (t) => {
    const { audit, clock, operations } = start(t, { refusalSubjects: 20, refusalBurst: 12 });
    const refused = (operation: string, remoteAddress: string, rateKey?: string): Promise<void> =>
      audit.record({
        operation,
        principal: rateKey
          ? { role: 'READONLY', origin: { kind: 'token', id: rateKey, name: rateKey }, rateKey }
          : undefined,
        params: {},
        status: 403,
        remoteAddress,
      });
    for (let count = 0; count < 500; count++) await refused('flood', '10.0.0.1');
    for (let count = 0; count < 500; count++) await refused('flood', '10.0.0.1', `user:${count % 2}`);
    await refused('of another address', '10.0.0.2');
    await refused('of another person', '10.0.0.1', 'user:2');
    await clock.advance(LIMITS.commits.windowMaxMs);
    assert.deepEqual(operations().slice(0, 2), ['of another person', 'of another address']);
    for (let address = 0; address < 500; address++) await refused('flood', `10.0.1.${address}`);
    await refused('of another person', '10.0.0.1', 'user:3');
    await clock.advance(2 * LIMITS.audit.refusalSummaryIntervalMs);
    const { entries } = audit.list({}, 1_000, 0);
    assert.ok(entries.length < 80, `${entries.length} entries`);
    const single = entries.filter(({ operation }) => operation !== 'refusals_omitted').length;
    const counted = entries.map(({ target }) => Number(target['count'] ?? 0));
    assert.equal(single + counted.reduce((sum, count) => sum + count, 0), 1_503, 'none is forgotten');
  });

  test('an entry of the audit trail is written for a rule with the next commit, and its refusals hide nobody else', async (t) => {
    const { audit, clock, record, operations } = start(t, { refusalsOfOne: 2 });
    const act = (kind: 'rule' | 'device', operation: string, status = 200): void =>
      audit.recordAction({ origin: { kind, id: kind, name: kind }, operation, target: {}, status });
    act('rule', 'did', 200);
    for (let count = 1; count <= 5; count++) act('rule', `failed_${count}`, 422);
    act('device', 'mqtt_login', 401);
    assert.deepEqual(operations(), []);
    await clock.advance(LIMITS.commits.windowMaxMs);
    await record('update_site', 403);
    await clock.advance(LIMITS.commits.windowMaxMs);
    assert.deepEqual(operations(), ['update_site', 'mqtt_login', 'failed_2', 'failed_1', 'did']);
  });

  test('an entry of the audit trail is written for a local command beside the others', async (t) => {
    const { audit, clock, database } = start(t);
    createLocalAudit({ database, clock })('admin_create_token', { token_id: '1' });
    assert.deepEqual(audit.list({ origin: 'local' }, 10, 0).entries, [
      {
        number: 1,
        atMs: clock.wallMs(),
        origin: { kind: 'local', id: 'local', name: 'local command' },
        operation: 'admin_create_token',
        target: { token_id: '1' },
        status: 0,
      },
    ]);
  });

  test('an entry made before the clock was set gets its true time', async (t) => {
    const { audit, clock, record } = start(t, {}, new TestClock(1_000));
    await record('update_site');
    await clock.advance(5_000);
    clock.step(Date.UTC(2026, 5, 1) - clock.wallMs());
    assert.equal(audit.list({}, 1, 0).entries[0]?.atMs, Date.UTC(2026, 5, 1) - 5_000);
  });
});

describe('the audit trail', () => {
  test('the audit trail keeps 90 days', async (t) => {
    const { clock, record, operations } = start(t);
    await record('first');
    await clock.advance(DAY_MS);
    await record('second');
    await clock.advance(LIMITS.audit.lifetimeMs - DAY_MS - LIMITS.audit.retentionIntervalMs);
    assert.deepEqual(operations(), ['second', 'first']);
    // Age is judged to a thousandth.
    await clock.advance(LIMITS.audit.lifetimeMs / 500);
    assert.deepEqual(operations(), ['second']);
  });

  test('the audit trail keeps its young entries when the clock leaps ahead', async (t) => {
    const { clock, record, operations } = start(t);
    await record('first');
    clock.step(365 * DAY_MS);
    await clock.advance(2 * LIMITS.audit.retentionIntervalMs);
    assert.deepEqual(operations(), ['first']);
  });

  test('the audit trail keeps a bounded number of entries, and removes the oldest in batches', async (t) => {
    const { clock, record, operations } = start(t, { entries: 3, deletedAtOnce: 2, retentionPauseMs: 1 });
    for (let count = 1; count <= 10; count++) await record(`change_${count}`);
    await clock.advance(LIMITS.audit.retentionIntervalMs + 100);
    assert.deepEqual(operations(), ['change_10', 'change_9', 'change_8']);
  });

  test('the audit trail keeps fewer entries while the room for state is scarce, and the full number afterwards', async (t) => {
    const limits = { entries: 6, entriesWhenScarce: 2, deletedAtOnce: 1, retentionPauseMs: 1 };
    const listeners = new Set<() => void>();
    let isScarce = false;
    const room: ScarceRoom = {
      get isScarce() {
        return isScarce;
      },
      onScarce: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    const { audit, clock, record, operations } = start(t, limits, new TestClock(), room);
    for (let count = 1; count <= 6; count++) await record(`change_${count}`);
    await clock.advance(100);
    assert.equal(operations().length, 6);
    isScarce = true;
    for (const listener of listeners) listener();
    await clock.advance(100);
    assert.deepEqual(operations(), ['change_6', 'change_5']);
    isScarce = false;
    for (let count = 7; count <= 10; count++) await record(`change_${count}`);
    await clock.advance(LIMITS.audit.retentionIntervalMs + 100);
    assert.equal(operations().length, 6);
    audit.stop();
    assert.equal(listeners.size, 0);
  });

  test('the audit trail bounds the entries of rules, and keeps those of people however many rules make', async (t) => {
    const limits = { entries: 6, automaticEntries: 3, deletedAtOnce: 2, retentionPauseMs: 1 };
    const { audit, clock, record, operations } = start(t, limits);
    for (let count = 1; count <= 10; count++) {
      const origin = { kind: 'rule', id: 'r', name: 'r' } as const;
      audit.recordAction({ origin, operation: `automatic_${count}`, target: {}, status: 200 });
      if (count % 5 === 0) await record(`change_${count}`);
    }
    await clock.advance(LIMITS.audit.retentionIntervalMs + 100);
    assert.deepEqual(operations(), ['change_10', 'automatic_10', 'automatic_9', 'automatic_8', 'change_5']);
  });
});
