/** A disk without room: control goes on, from a start as well, and history gives way. Needs root, for a disk of its own. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createGatewayHome, createTokens, type GatewayHome } from '../../scripts/support/gateway-process.ts';
import { until } from '../support/until.ts';
import { type Running, startHealthy } from './support.ts';

const SCRIPT = { code: Buffer.from('return true\n').toString('base64'), runtime_version: 'V3' };
const ENVIRONMENT = { GATEWAY_HTTP_REQUESTS_PER_SECOND: '10000', GATEWAY_HTTP_REQUEST_BURST: '10000' };
const DISK_MIB = 160;
const canMount = process.getuid?.() === 0 && spawnSync('mount', ['--version']).error === undefined;

/** A home whose data folder is a small disk of its own. */
async function homeOnDisk(t: TestContext): Promise<GatewayHome> {
  const home = await createGatewayHome();
  const dataDir = join(home.folder, 'data');
  mkdirSync(dataDir);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', dataDir]);
  t.after(() => {
    execFileSync('umount', ['--lazy', dataDir]);
    home.remove();
  });
  return home;
}

const filler = (home: GatewayHome): string => join(home.folder, 'data', 'filler');

/** To the last byte. */
function fill(home: GatewayHome): void {
  const file = openSync(filler(home), 'a');
  try {
    for (let sizeBytes = 1_048_576; sizeBytes >= 1;) {
      try {
        if (writeSync(file, Buffer.alloc(sizeBytes, 7)) < sizeBytes) sizeBytes = Math.floor(sizeBytes / 2);
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
        sizeBytes = Math.floor(sizeBytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
  assert.equal(statfsSync(join(home.folder, 'data')).bavail, 0);
}

/** Everything that control is made of, once; the statuses that were not 200. */
async function control({ call }: Running, number: number): Promise<string[]> {
  const calls: [string, string, unknown?][] = [
    ['POST', '/v3/provisioning/standalone', { name: `Device ${number}` }],
    ['POST', '/v3/auth/tokens', { name: `token ${number}`, role: 'USER' }],
    ['POST', '/v3/site/rule_engine/rules', { slug: `rule-${number}`, disable: true, script: SCRIPT }],
    ['GET', `/v3/devices/device-${number}`],
    ['DELETE', `/v3/devices/device-${number}`],
  ];
  const refused: string[] = [];
  for (const [method, path, body] of calls) {
    const answer = await call(method, path, body);
    if (answer.status !== 200)
      refused.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return refused;
}

describe('a full disk', { skip: !canMount && 'needs root and mount' }, () => {
  test('does not stop control, not even after a kill and a start on it, and heals', async (t) => {
    const home = await homeOnDisk(t);
    const first = await startHealthy(t, home, ENVIRONMENT);
    await until(() => existsSync(join(home.folder, 'data', 'start.reserve')));
    assert.deepEqual(await control(first, 0), []);
    fill(home);
    for (let number = 1; number <= 60; number++) assert.deepEqual(await control(first, number), []);
    await first.gateway.end('SIGKILL');
    const second = await startHealthy(t, home, ENVIRONMENT);
    for (let number = 61; number <= 100; number++) assert.deepEqual(await control(second, number), []);
    assert.equal((await second.gateway.end('SIGTERM')).code, 0);
    const third = await startHealthy(t, home, ENVIRONMENT);
    assert.deepEqual(await control(third, 101), []);
    await createTokens(home, 'OWNER', 1);
    rmSync(filler(home));
    assert.deepEqual(await control(third, 102), []);
  });
});
