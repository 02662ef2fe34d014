/** Backups by plan on a box where something else is wrong, too. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Backups } from '../../../src/capabilities/backups/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { Rehearsal } from '../../../src/platform/backup/index.ts';
import { SecretSealer } from '../../../src/platform/files/index.ts';
import { errorResponse } from '../../../src/platform/http/responses.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { makeHome, PASSWORD } from '../../platform/backup/support.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

/** Due every day from midnight on, into a folder that is there. */
function planned(t: TestContext, timezone = 'UTC', rehearsal?: Rehearsal) {
  const { dataDir, database, clock } = makeHome(t, 'Depot');
  const { log, lines } = recordingLog(clock);
  const folder = join(dataDir, '..', 'stick');
  mkdirSync(folder);
  const damages: Error[] = [];
  const restarts: string[] = [];
  const secretKeysPath = join(dataDir, '..', 'secrets.key');
  const backups = new Backups({
    database,
    dataDir,
    secretKeysPath,
    sealer: new SecretSealer({ path: secretKeysPath, dataDir, log }),
    clock,
    log,
    version: '9.9.9',
    metrics: createMetrics(),
    site: { get: () => ({ id: 'x', name: 'Depot', timezone, archived: false, createdAtMs: 0 }) },
    history: { path: join(dataDir, 'history.db'), usedBytes: () => 0 },
    onHistoryDamage: (damage) => void damages.push(damage),
    lastTakenMs: () => undefined,
    freeBytes: () => 1e12,
    rehearsal,
    requestRestart: (reason) => void restarts.push(reason),
    limits: { ...LIMITS.backup, workFactor: 2 },
  });
  t.after(() => backups.stop());
  backups.update({ schedule: 'DAILY', atMinute: 0, target: folder, password: PASSWORD });
  const saying = (message: string) => lines.filter((line) => line.message === message);
  return { backups, clock, damages, database, dataDir, folder, restarts, saying };
}

test('an unreadable state.db when a backup may be due ends nothing', async (t) => {
  const { backups, clock, database, saying } = planned(t);
  backups.start();
  database.close();
  await clock.advance(LIMITS.backup.checkIntervalMs);
  assert.equal(saying('whether a backup is due is not known').length, 1);
});

test('a failure that cannot be stored is reported, ends nothing, and is retried after a pause', async (t) => {
  const { backups, clock, database, folder, saying } = planned(t);
  rmSync(folder, { recursive: true });
  database.prepare('ALTER TABLE backup_outcome RENAME TO elsewhere').run();
  await backups.run();
  await until(() => saying('the outcome of a backup could not be stored').length === 1);
  database.prepare('ALTER TABLE elsewhere RENAME TO backup_outcome').run();
  backups.start();
  await clock.advance(LIMITS.backup.retryMs - LIMITS.backup.checkIntervalMs);
  assert.equal(saying('backup failed').length, 1);
  await clock.advance(2 * LIMITS.backup.checkIntervalMs);
  await until(() => saying('backup failed').length === 2);
  await backups.stop();
});

test('a backup is made for a site in a time zone that this version does not know', async (t) => {
  const { backups, clock, folder } = planned(t, 'Mars/Olympus');
  backups.start();
  await clock.advance(LIMITS.backup.checkIntervalMs);
  await until(() => readdirSync(folder).some((name) => name.endsWith('.backup')));
  await backups.stop();
});

test('a planned backup begins when the previous one has been read to its end', async (t) => {
  const { backups, clock, saying } = planned(t);
  const open = () => backups.open(PASSWORD, { includeHistory: false, signal: new AbortController().signal });
  const { stream } = await open();
  const begun = backups.run();
  assert.equal(await Promise.race([begun.then(() => 'begun'), turn('waiting')]), 'waiting');
  await new Response(stream).arrayBuffer();
  await begun;
  await until(() => saying('backup made').length === 1);

  const unread = await open();
  const refused = assert.rejects(backups.run(), { code: 'backup_in_progress' });
  await clock.advance(LIMITS.backup.readerLeavesMs);
  await refused;
  await unread.stream.cancel();
});

test('a history found damaged during a backup is reported to the part that repairs it', async (t) => {
  const { backups, damages, dataDir, saying } = planned(t);
  writeFileSync(join(dataDir, 'history.db'), 'no database. '.repeat(1_000));
  backups.update({ includeHistory: true });
  await backups.run();
  await until(() => saying('backup failed').length === 1);
  assert.match(String(damages), /not a database/);
  assert.match(backups.standing().fault ?? '', /^Part of the history is damaged\. It is mended now/);
});

for (const [title, code, fault] of [
  ['no room', 'SQLITE_FULL', /^The disk is full.*Make room/],
  ['no process', 'EAGAIN', /^The system starts nothing more now/],
] as const)
  test(`a plan names the remedy when the box has ${title} for its backup`, async (t) => {
    const { backups, database, saying } = planned(t);
    database.copyTo = () => Promise.reject(Object.assign(new Error('refused'), { code }));
    await backups.run();
    await until(() => saying('backup failed').length === 1);
    assert.match(backups.standing().fault ?? '', fault);
  });

test('an upload that nobody takes over is forgotten after a day', async (t) => {
  const { backups, clock, dataDir } = planned(t);
  backups.update({ schedule: 'OFF' });
  backups.start();
  const uploaded = join(dataDir, 'backups', 'uploaded.backup');
  await backups.upload(new Blob(['sealed']).stream());
  await clock.advance(LIMITS.backup.uploadKeptMs - LIMITS.backup.checkIntervalMs);
  assert.equal(existsSync(uploaded), true);
  await clock.advance(LIMITS.backup.checkIntervalMs);
  assert.equal(existsSync(uploaded), false);
});

test('a backup that a power cut left half written at the target is removed even when the next try fails', async (t) => {
  const { backups, folder, database, saying } = planned(t);
  writeFileSync(join(folder, 'depot-x-20260228T000000Z.backup.part'), 'half');
  // Nobody can restore it, so it is not stored.
  database.prepare('PRAGMA user_version = 9999').run();
  await backups.run();
  await until(() => saying('backup failed').length === 1 && readdirSync(folder).length === 0);
});

test('the removal of old files at a slow target takes minutes at most', async (t) => {
  const { backups, clock, saying } = planned(t);
  const listed = Array.from({ length: 9 }, (_, day) => `depot-x-2026020${day + 1}T000000Z.backup.part`);
  let removed = 0;
  const server = createServer((request, response) => {
    if (request.method === 'PROPFIND')
      return void response.end(listed.map((name) => `<href>/b/${name}</href>`).join(''));
    if (request.method !== 'DELETE') return void response.writeHead(507).end();
    removed += 1;
    void clock.advance(LIMITS.backup.removingMs * 0.6).then(() => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  backups.update({ target: `http://127.0.0.1:${(server.address() as AddressInfo).port}/b` });
  await backups.run();
  await until(async () => !(await backups.status()).isRunning);
  assert.deepEqual([saying('backup failed').length, removed], [1, 2]);
});

test('an upload for which the disk has no room is answered in words', async (t) => {
  const { backups, dataDir } = planned(t);
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  const stream = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(full) });
  const refusal = errorResponse(await backups.upload(stream).catch((error: unknown) => error));
  assert.equal(refusal.status, 503);
  assert.match(await refusal.text(), /The disk is full/);
  assert.equal(existsSync(join(dataDir, 'backups', 'uploaded.backup')), false);
});

test('a rehearsal makes no backup by plan, misses none, and refuses to be asked for one', async (t) => {
  const { backups, clock, dataDir, folder, restarts } = planned(t, 'UTC', { beganAtMs: 0 });
  writeFileSync(join(dataDir, 'rehearsal.json'), '{}');
  backups.start();
  await clock.advance(20 * 86_400_000);
  assert.deepEqual([readdirSync(folder), backups.isOverdue(), restarts], [[], false, []]);
  await assert.rejects(backups.run(), { code: 'in_rehearsal' });
});

test('an ended rehearsal is over with the restart that follows, whether ended in the console or on the box', async (t) => {
  const ends: ((backups: Backups, mark: string) => void)[] = [
    (backups) => backups.endRehearsal(),
    (_backups, mark) => rmSync(mark),
  ];
  for (const end of ends) {
    const { backups, clock, dataDir, restarts } = planned(t, 'UTC', { beganAtMs: 0 });
    const mark = join(dataDir, 'rehearsal.json');
    writeFileSync(mark, '{}');
    backups.start();
    end(backups, mark);
    await clock.advance(LIMITS.backup.checkIntervalMs);
    assert.equal(existsSync(mark), false);
    assert.equal(restarts[0], 'the rehearsal has ended');
  }
  assert.throws(() => planned(t).backups.endRehearsal(), { code: 'no_rehearsal' });
});
