/** Two gateways and one data folder: the second one says who is there and touches nothing. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createGatewayHome } from '../../scripts/support/gateway-process.ts';
import { localCopies } from '../../src/platform/sqlite/index.ts';
import { until } from '../support/until.ts';
import { admin, runToEnd, startHealthy, temporaryHome, usedHome, WITH_CHILD_PROGRAMS } from './support.ts';

/** Every file with its time of change, but for those that the running gateway writes by itself. */
function filesOf(folder: string): Record<string, number> {
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => !/-wal$|-shm$|history\.db|telemetry-journal/.test(name))
      .map((name) => [name, statSync(join(folder, name)).ctimeMs]),
  );
}

describe('a second gateway on a data folder', () => {
  test('a second gateway on a data folder fails for now, names the first one, and takes nothing from it, by another spelling and other ports', async (t) => {
    const home = await temporaryHome(t);
    const dataDir = join(home.folder, 'data');
    const { gateway, call } = await startHealthy(t, home);
    const made = await call('POST', '/v3/provisioning/standalone', { name: 'Battery' });
    assert.equal(made.status, 200);
    const link = join(home.folder, 'link');
    symlinkSync(dataDir, link);
    const other = await createGatewayHome('bundle');
    t.after(() => other.remove());
    // Made beside the work of a gateway that is ready.
    await until(() => localCopies(join(dataDir, 'backups')).length > 0);
    const before = filesOf(dataDir);
    // Each waits for a while, for the first one may be about to end.
    const ends = await Promise.all(
      [dataDir, link, join(dataDir, '..', 'data', '.')].map((spelling) =>
        runToEnd(other, { GATEWAY_DATA_DIR: spelling }),
      ),
    );
    for (const { code, stdout } of ends) {
      // Its holder may be a killed process that a disk still keeps: the service manager must not give up.
      assert.equal(code, 1);
      const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '{}') as Record<string, string>;
      assert.equal(last['level'], 'fatal');
      const reason = last['reason'] ?? '';
      assert.match(reason, new RegExp(`process ${gateway.pid} on host ${hostname()}, running since 20`));
      assert.match(reason, new RegExp(`HTTP on port ${home.environment['GATEWAY_HTTP_PORT']}`));
      assert.match(reason, /Nothing was changed/);
    }
    assert.deepEqual(filesOf(dataDir), before);
    assert.equal((await call('GET', '/v3/devices/battery')).status, 200);
    assert.equal((await gateway.end('SIGTERM')).code, 0);
    assert.equal(readdirSync(dataDir).includes('gateway.lock.holder'), false);
  });

  test('a gateway starts at once after the first one was killed, whatever the file beside the lock says', async (t) => {
    const home = await usedHome(t);
    // They outlive the kill for a moment.
    const { gateway } = await startHealthy(t, home, WITH_CHILD_PROGRAMS);
    await gateway.end('SIGKILL');
    assert.match(
      readFileSync(join(home.folder, 'data', 'gateway.lock.holder'), 'utf8'),
      new RegExp(`process ${gateway.pid}`),
    );
    const again = await startHealthy(t, home);
    assert.equal((await again.call('GET', '/v3/site')).status, 200);
  });

  test('a gateway names changes that may be lost when the logs of a killed one are missing, and none after a stop', async (t) => {
    const home = await usedHome(t);
    const dataDir = join(home.folder, 'data');
    const lostFiles = () => {
      if (!readdirSync(dataDir).includes('changes-lost.json')) return [];
      const note = JSON.parse(readFileSync(join(dataDir, 'changes-lost.json'), 'utf8')) as { file: string }[];
      return note.map(({ file }) => file);
    };
    await (await startHealthy(t, home)).gateway.end('SIGTERM');
    const killed = await startHealthy(t, home);
    assert.deepEqual(lostFiles(), []);
    await killed.gateway.end('SIGKILL');
    for (const name of readdirSync(dataDir).filter((one) => /-(wal|shm)$/.test(one)))
      rmSync(join(dataDir, name));
    const again = await startHealthy(t, home);
    assert.equal((await again.call('GET', '/v3/site')).status, 200);
    assert.deepEqual(lostFiles(), ['state.db', 'history.db']);
  });

  test('a local command names changes that may be lost when it comes before the next start', async (t) => {
    const home = await usedHome(t);
    const dataDir = join(home.folder, 'data');
    const killed = await startHealthy(t, home);
    await killed.gateway.end('SIGKILL');
    for (const suffix of ['-wal', '-shm']) rmSync(join(dataDir, `state.db${suffix}`));
    const { status, stderr } = admin(home, 'list-users');
    assert.equal(status, 0, stderr);
    assert.match(stderr, /changes may be missing/);
    const note = readFileSync(join(dataDir, 'changes-lost.json'), 'utf8');
    assert.match(note, /"file":"state.db"/);
  });
});
