/** Files of the history that somebody removed: the gateway goes on without them, and says so. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';

const SENTENCE = 'history is missing beside state.db, a new one is begun';

test('a new box has no history to miss, nor has one that starts again', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.restart();
  assert.deepEqual(
    gateway.lines.filter(({ message }) => message === SENTENCE),
    [],
  );
});

test('history.db and the journal that are gone are named at the next start', async (t) => {
  const gateway = await startTestGateway(t);
  const before = await gateway.provision('Battery');
  await gateway.stop();
  for (const name of ['history.db', 'history.db-wal', 'history.db-shm', 'telemetry-journal'])
    rmSync(join(gateway.dataDir, name), { recursive: true, force: true });
  await gateway.restart();
  const [line] = gateway.lines.filter(({ message }) => message === SENTENCE);
  assert.equal(line?.level, 'warn');
  assert.deepEqual(line?.['missing'], ['history.db', 'telemetry-journal']);
  await gateway.ok('OWNER', 'GET', `/v3/devices/${before.slug}`);
});
