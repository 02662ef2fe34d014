/** What somebody who broke out of a script could do in the programs that run scripts, as the gateway starts them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { programOf } from '../../scripts/support/gateway-process.ts';
import { until } from '../support/until.ts';
import { type Running, startHealthy, usedHome, WITH_CHILD_PROGRAMS } from './support.ts';

test('the rule sandbox runs with an option for every right, cannot read state.db or keys, and is ended before the gateway when memory is exhausted', async (t) => {
  const home = await usedHome(t);
  const { gateway, call } = await startHealthy(t, home, WITH_CHILD_PROGRAMS);
  await startRule(call);
  await until(() => childOf(gateway.pid, 'rule-sandbox') !== undefined);
  const pid = childOf(gateway.pid, 'rule-sandbox') ?? 0;
  const options = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    .split('\0')
    .filter((word) => word.startsWith('--'));
  assert.ok(options.includes('--permission'));
  for (const right of ['--allow-child-process', '--allow-addons', '--allow-wasi', '--allow-fs-write'])
    assert.equal(
      options.find((option) => option.startsWith(right)),
      undefined,
    );
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  assert.deepEqual(
    environment.filter((entry) => entry !== '' && !entry.startsWith('NODE_CHANNEL')),
    ['MALLOC_ARENA_MAX=1'],
  );
  const scoreOf = (process: number): number => Number(readFileSync(`/proc/${process}/oom_score_adj`, 'utf8'));
  assert.ok(scoreOf(pid) > scoreOf(gateway.pid));

  const dataDir = home.environment['GATEWAY_DATA_DIR'] ?? '';
  const attempt = `try { fs.readFileSync(process.argv[1]); console.log('read') } catch (error) { console.log(error.code) }`;
  for (const file of ['state.db', join('tls', 'authority.pem')]) {
    const read = (given: string[]): string =>
      execFileSync(process.execPath, [...given, '-e', attempt, join(dataDir, file)], {
        encoding: 'utf8',
      }).trim();
    assert.equal(read([]), 'read');
    assert.equal(read(options), 'ERR_ACCESS_DENIED');
  }
});

async function startRule(call: Running['call']): Promise<void> {
  const code = Buffer.from('scheduler.add(1000, print)').toString('base64');
  await call('POST', '/v3/site/rule_engine/rules', { slug: 'r', script: { runtime_version: 'V3', code } });
}

function childOf(gatewayPid: number, program: string): number | undefined {
  try {
    return programOf(gatewayPid, program);
  } catch (error) {
    if (error instanceof Error && error.message.includes('runs no')) return undefined;
    throw error;
  }
}
