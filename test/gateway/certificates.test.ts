/** Keys that cannot be used at a start: what needs none goes on, and TLS comes back by itself. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openCertificates } from '../../src/gateway/certificates.ts';
import { UnrecoverableError } from '../../src/lib/errors.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { TestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { recordingLog, temporaryFolder } from '../support/workspace.ts';

test('a start without usable keys restarts once as soon as they are usable, and makes none beside them', async (t) => {
  const dataDir = temporaryFolder(t);
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const restarts: string[] = [];
  const open = (environment: Record<string, string> = {}) =>
    openCertificates(
      {
        config: loadConfig({ environment: { GATEWAY_DATA_DIR: dataDir, ...environment } }),
        clock,
        log,
        version: '0.1.0',
        requestRestart: (reason) => restarts.push(reason),
      },
      undefined,
      (_, stop) => t.after(stop),
    );
  assert.ok(await open());
  const files = [join(dataDir, 'tls/authority.pem'), join(dataDir, 'backups/authority.pem')];
  const [text = ''] = files.map((file) => readFileSync(file, 'utf8'));
  for (const file of files) writeFileSync(file, 'zeros');

  await assert.rejects(open({ GATEWAY_HTTP: 'false' }), UnrecoverableError);
  assert.equal(await open(), undefined);
  const looked = () => lines.filter(({ message }) => message === 'the keys of TLS cannot be used yet').length;
  await clock.advance(LIMITS.tls.checkIntervalMs);
  await until(() => looked() === 1);
  assert.deepEqual(restarts, []);
  for (const file of files) assert.equal(readFileSync(file, 'utf8'), 'zeros');

  writeFileSync(files[0] ?? '', text);
  rmSync(files[1] ?? '');
  await clock.advance(LIMITS.tls.checkIntervalMs);
  await until(() => restarts.length === 1);
  await clock.advance(3 * LIMITS.tls.checkIntervalMs);
  assert.deepEqual(restarts, ['the keys of TLS can be used again']);
  assert.ok((await open())?.caPem.length);
});
