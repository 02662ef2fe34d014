/** Somebody removes the data folder, or covers it, while the gateway works. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.ts';
import { startHealthy, usedHome } from './support.ts';

const losses: [title: string, lose: (dataDir: string) => void][] = [
  ['removed', (dataDir) => rmSync(dataDir, { recursive: true })],
  [
    'replaced by an empty one',
    (dataDir) => {
      renameSync(dataDir, `${dataDir}.old`);
      mkdirSync(dataDir);
    },
  ],
];

for (const [title, lose] of losses)
  test(`a folder that is ${title}: the gateway ends by itself, and the next start has the state and the keys`, async (t) => {
    const home = await usedHome(t);
    const dataDir = join(home.folder, 'data');
    const first = await startHealthy(t, home);
    const authority = (await first.call('GET', '/ca.pem')).body;
    lose(dataDir);
    const made = await first.call('POST', '/v3/provisioning/standalone', { name: 'After' });
    assert.equal(made.status, 200);
    await until(() => first.gateway.hasExited);
    assert.equal((await first.gateway.end('SIGTERM')).code, 1);
    const log = readFileSync(home.logFile, 'utf8');
    assert.ok(log.includes(`${dataDir} was removed or replaced`));
    const again = await startHealthy(t, home);
    const path = '/v3/devices/after';
    const answer = await fetch(home.baseUrl + path, {
      headers: { 'X-Service-Auth-Token': first.tokens.OWNER },
    });
    assert.equal(answer.status, 200);
    assert.equal((await again.call('GET', '/ca.pem')).body, authority);
  });
