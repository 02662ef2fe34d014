/** Newer versions that are uploaded: refused in a sentence each, shown, handed over. Denials first. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs, { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { key, noDpkg } from '../platform/packages/support.ts';
import { type Answered, PROCESSOR, startUpdates, UPDATE } from './update-support.ts';

const OTHER_PROCESSOR = PROCESSOR === 'arm64' ? 'amd64' : 'arm64';

function assertRefused(
  answer: Partial<Answered> & { status: number },
  problem: string,
  message: RegExp,
): void {
  const [error] = answer.errors ?? [];
  assert.deepEqual([answer.status, error?.code, error?.details.problem], [422, 'update_refused', problem]);
  assert.match(error?.message ?? '', message);
}

describe('an upload is refused', { skip: noDpkg }, () => {
  const rows: [
    title: string,
    options: Parameters<typeof startUpdates>[1],
    bytes: (made: { file: string; unsigned: string }) => Uint8Array | undefined,
    problem: string,
    message: RegExp,
  ][] = [
    ['that is no package', {}, () => Buffer.from('PK'), 'no_package', /no Debian package/],
    ['that is empty', {}, () => new Uint8Array(), 'no_package', /no Debian package/],
    ['that is not signed', {}, ({ unsigned }) => readFileSync(unsigned), 'unsigned', /is not signed/],
    [
      'that is cut off',
      {},
      ({ file }) => readFileSync(file).subarray(0, -30),
      'truncated',
      /damaged, or its end is missing/,
    ],
    [
      'that was changed',
      {},
      ({ file }) => {
        const bytes = readFileSync(file);
        bytes[200] = (bytes[200] ?? 0) ^ 1;
        return bytes;
      },
      'changed',
      /was changed/,
    ],
    [
      'for another processor',
      { fields: { Architecture: OTHER_PROCESSOR } },
      () => undefined,
      'other_processor',
      /this box has/,
    ],
    ['of an older version', { fields: { Version: '0.0.9' } }, () => undefined, 'older', /only a newer one/],
    [
      'that is another package',
      { fields: { Package: 'other' } },
      () => undefined,
      'other_package',
      /not energy-gateway/,
    ],
    [
      'that has no room when it is unpacked',
      { fields: { 'Installed-Size': '99999999999' } },
      () => undefined,
      'no_room',
      /MiB of free room/,
    ],
    [
      'that has no room here',
      { freeBytes: LIMITS.update.roomBytes - 1 },
      () => undefined,
      'no_room',
      /239 MiB of free room/,
    ],
  ];
  for (const [title, options, bytes, problem, message] of rows)
    test(title, async (t) => {
      const made = await startUpdates(t, options);
      assertRefused(await made.upload(bytes(made)), problem, message);
      assert.equal((await made.call('GET', '')).update.uploaded, null);
      assert.equal(existsSync(join(made.dataDir, 'update/uploaded.deb')), false, 'nothing stays of it');
      assertRefused(await made.call('POST', '/install'), 'not_uploaded', /No package was uploaded/);
    });

  test('an upload is refused when somebody else signed it, or while no key is known', async (t) => {
    const { keyFile, folder, upload } = await startUpdates(t);
    writeFileSync(keyFile, key(folder, 'other').publicPem);
    assertRefused(await upload(), 'unknown_key', /does not know/);
    rmSync(keyFile);
    assertRefused(await upload(), 'unknown_key', /knows no key/);
  });

  test('an upload is refused when the gateway was not installed by its package', async (t) => {
    const { updater, call, upload } = await startUpdates(t);
    rmSync(updater.program);
    assertRefused(await upload(), 'not_supported', /not installed by its package/);
    assert.equal((await call('GET', '')).update.supported, false);
  });

  test('an upload is refused when it is larger than any package', async (t) => {
    const { served } = await startUpdates(t);
    const { port, hostname } = new URL(served.origin);
    const request = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: `${UPDATE}/upload`,
      headers: {
        'X-Service-Auth-Token': 'INSTALLER',
        'Content-Length': String(LIMITS.update.packageBytes + 1),
      },
    });
    request.flushHeaders();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 413);
    request.destroy();
  });
});

describe('an uploaded package', { skip: noDpkg }, () => {
  test('an uploaded package is shown with what it brings, replaced, forgotten, and gone after a restart', async (t) => {
    const { upload, call, dataDir, file, restart } = await startUpdates(t);
    const { update, status } = await upload();
    assert.equal(status, 200);
    assert.deepEqual(update.uploaded && { ...update.uploaded }, {
      version: '0.2.0',
      architecture: PROCESSOR,
      size_bytes: readFileSync(file).length,
      installed_bytes: 1_024_000,
      release_notes: '## 0.2.0\n\n- pumps are quieter',
    });
    assert.deepEqual((await call('GET', '')).update, update);
    assert.equal((await upload()).status, 200);
    assert.equal((await call('DELETE', '')).update.uploaded, null);
    assert.equal((await call('DELETE', '')).status, 200);
    await upload();
    await restart();
    assert.equal(existsSync(join(dataDir, 'update/uploaded.deb')), false);
  });

  test('an uploaded package is handed over as it came, and nothing else is taken until it is answered', async (t) => {
    const { upload, call, dataDir, file, updater } = await startUpdates(t);
    await upload();
    assert.equal((await call('POST', '/install')).update.installing, true);
    const waiting = join(dataDir, 'update/install.deb');
    assert.ok(readFileSync(waiting).equals(readFileSync(file)));
    for (const again of [() => upload(), () => call('POST', '/install'), () => call('DELETE', '')]) {
      const { status, errors } = await again();
      assert.deepEqual([status, errors[0]?.code], [409, 'update_in_progress']);
    }
    rmSync(waiting);
    assert.equal((await call('GET', '')).update.installing, true, 'it was taken, and no word came yet');
    writeFileSync(updater.outcomeFile, '2026-03-01T08:00:00Z not installed: The package is not signed.\n');
    const { update } = await call('GET', '');
    assert.equal(update.installing, false);
    assert.deepEqual(update.last_outcome, {
      at: '2026-03-01T08:00:00.000Z',
      message: 'not installed: The package is not signed.',
    });
    assert.equal((await upload()).status, 200);
  });

  test('an uploaded package is reported as failed once the version before is back', async (t) => {
    const { call, updater } = await startUpdates(t);
    const last = async () => (await call('GET', '')).update.last_outcome?.message;
    writeFileSync(updater.trialFile, '2026-03-01T07:00:00Z Version 0.1.0 failed; 0.0.9 runs again.\n');
    assert.equal(await last(), undefined, 'it was not installed from here');
    writeFileSync(updater.outcomeFile, '2026-03-01T08:00:00Z installed\n');
    assert.equal(await last(), 'installed');
    writeFileSync(updater.trialFile, '2026-03-01T08:01:00Z Version 0.2.0 runs; 0.1.0 is kept.\n');
    assert.equal(await last(), 'installed');
    writeFileSync(updater.trialFile, '2026-03-01T08:02:00Z Version 0.2.0 failed; 0.1.0 runs again.\n');
    assert.equal(await last(), 'Version 0.2.0 failed; 0.1.0 runs again.');
  });

  test('an uploaded package has a result, too, when what the updater wrote cannot be read', async (t) => {
    const { call, updater } = await startUpdates(t);
    for (const file of [updater.outcomeFile, updater.trialFile, updater.failureFile]) mkdirSync(file);
    const { status, update } = await call('GET', '');
    assert.deepEqual([status, update.last_outcome, update.failed_trial], [200, null, null]);
  });

  test('an uploaded package keeps its state when it cannot be handed over', async (t) => {
    const { call, upload, dataDir } = await startUpdates(t);
    const { update } = await upload();
    renameSync(join(dataDir, 'update/uploaded.deb'), join(dataDir, 'elsewhere.deb'));
    assert.equal((await call('POST', '/install')).status, 500);
    renameSync(join(dataDir, 'elsewhere.deb'), join(dataDir, 'update/uploaded.deb'));
    assert.deepEqual((await call('GET', '')).update, update);
    assert.equal((await call('POST', '/install')).update.installing, true);
  });

  test('an uploaded package is being installed although the disk does not confirm that it was handed over', async (t) => {
    const { call, upload, dataDir } = await startUpdates(t);
    await upload();
    const refusing = t.mock.method(fs, 'fsyncSync', () => {
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
    });
    syncBuiltinESMExports();
    const { status, update } = await call('POST', '/install');
    refusing.mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual([status, update.installing, update.uploaded], [200, true, null]);
    // Taken, and not over yet: nothing else may come in between.
    renameSync(join(dataDir, 'update/install.deb'), join(dataDir, 'taken.deb'));
    assert.equal((await upload()).status, 409);
  });

  test('an uploaded package is named with the reason when it disappeared, until the next one, however it was installed', async (t) => {
    const { call, updater } = await startUpdates(t);
    const failed = async (line?: string) => {
      if (line !== undefined) writeFileSync(updater.failureFile, `${line}\n`);
      return (await call('GET', '')).update.failed_trial;
    };
    const at = '2026-03-01T08:02:00Z';
    assert.equal(await failed(), null);
    assert.deepEqual(await failed(`${at} 0.2.0~rc1-3f2a9c0d1e4b ended 1 unexpected error: no sun`), {
      at: '2026-03-01T08:02:00.000Z',
      version: '0.2.0~rc1',
      reason: 'ENDED',
      status: '1',
      words: 'unexpected error: no sun',
    });
    const { at: _, ...cutOff } = (await failed(`${at} 0.2.0-3f2a9c0d1e4b cut_off -`)) ?? {};
    assert.deepEqual(cutOff, { version: '0.2.0', reason: 'CUT_OFF', status: null, words: null });
    assert.equal((await failed(`${at} 0.2.0-3f2a9c0d1e4b of_tomorrow - x`))?.reason, 'OTHER');
    assert.equal((await failed(`${at} 0.2.0-3f2a9c0d1e4b ended 1 ${'x'.repeat(9_000)}`))?.words?.length, 300);
    assert.equal(await failed(`${at} 0.2`), null, 'a line that was cut off');
    rmSync(updater.failureFile);
    assert.equal(await failed(), null);
  });

  test('an uploaded package is given up after an hour without any answer', async (t) => {
    const { upload, call, clock, dataDir } = await startUpdates(t);
    await upload();
    await call('POST', '/install');
    mkdirSync(join(dataDir, 'elsewhere'));
    renameSync(join(dataDir, 'update/install.deb'), join(dataDir, 'elsewhere/taken.deb'));
    await clock.advance(LIMITS.update.installMs + 1);
    assert.equal((await call('GET', '')).update.installing, false);
  });
});
