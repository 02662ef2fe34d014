/** A report for somebody far away: what helps is in it, no secret is. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';

test('a problem report names versions, options, faults and metrics, and holds no secret of the box', async (t) => {
  const planted: string[] = [];
  const gateway = await startTestGateway(t, { recentLog: () => planted });
  const { ok } = gateway;
  const claim_code = readFileSync(join(gateway.dataDir, 'claim-code'), 'utf8').trim();
  const password = 'ein Satz "mit" Zeichen/2';
  const { token } = await ok('INSTALLER', 'POST', '/v3/auth/tokens', { name: 'x', role: 'OWNER' });
  const device = await ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'M', protocol: 'MQTT' });
  const { mqtt_credentials: credentials } = device['config'] as { mqtt_credentials: { password: string } };
  await ok('INSTALLER', 'PATCH', '/v3/backup/plan', { password, target_password: 'server side' });
  // These secrets are never given to the log; should one be, the test finds it.
  planted.push(
    claim_code,
    `backup with ${password}`,
    'user x, server side',
    `got ${String(token)}`,
    JSON.stringify({ level: 'warn', message: 'login', password: credentials.password, detail: password }),
    `mqtt://m:${credentials.password}@10.0.0.1`,
    'history cannot be opened',
  );
  const answer = await gateway.request('OWNER', 'GET', '/v3/problem_report');
  assert.match(answer.headers.get('content-disposition') ?? '', /problem-report\.json/);
  const text = await answer.text();
  for (const secret of [
    claim_code,
    password,
    JSON.stringify(password).slice(1, -1),
    'server side',
    String(token),
  ])
    assert.ok(!text.includes(secret), secret);
  assert.ok(!text.includes(credentials.password));
  const report = JSON.parse(text) as Record<string, unknown>;
  for (const part of ['version', 'runtime', 'host', 'options', 'faults', 'status', 'integrity'])
    assert.ok(part in report, part);
  assert.ok((report['log'] as string[]).includes('history cannot be opened'));
  assert.match(JSON.stringify(report['metrics']), /gateway_process_memory_bytes/);
});
