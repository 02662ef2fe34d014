/** The local command that applies a site file, beside a running gateway and without one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createTokens, type GatewayHome, startGateway } from '../../scripts/support/gateway-process.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { until } from '../support/until.ts';
import { SECRETS, siteFile } from '../site-file/support.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { temporaryHome, usedHome } from './support.ts';

const FILE = `
users: [{name: anna, role: OWNER, password: {env: ANNA}}]
devices: [{slug: meter, name: Meter, type: STANDALONE}]
`;

async function provision(
  home: GatewayHome,
  ...words: string[]
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [home.entries.admin, 'provision', ...words], {
    cwd: PROJECT_ROOT,
    env: { ...home.environment, ...SECRETS },
  });
  const [stdout, stderr, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => void child.once('close', resolve)),
  ]);
  return { status, stdout, stderr };
}

describe('the command for a site file', () => {
  test('the command for a site file refuses faults, and does nothing without a running gateway', async (t) => {
    const home = await temporaryHome(t);
    const wrong = await provision(home, siteFile(t, 'users: [{name: anna}]'));
    assert.deepEqual([wrong.status, wrong.stdout], [64, '']);
    assert.match(wrong.stderr, /users\[0\]\.role: .*\n.*users\[0\]\.password: is required/);
    const stopped = await provision(home, siteFile(t, FILE));
    assert.deepEqual([stopped.status, stopped.stdout], [1, '']);
    assert.match(
      stopped.stderr,
      /^The gateway does not answer at .*GATEWAY_PROVISION_FILE may name the file/,
    );
    assert.equal(existsSync(home.environment['GATEWAY_DATA_DIR'] ?? ''), false);
  });

  test('the command for a site file shows the difference, applies it, finds none afterwards, and reports how far it came', async (t) => {
    const home = await usedHome(t);
    const clock = createSystemClock();
    const gateway = startGateway(home, clock);
    t.after(async () => {
      await gateway.end('SIGTERM');
      clock.close();
    });
    await gateway.healthy();
    const path = siteFile(t, FILE);
    const changes = 'user "anna": new, OWNER\ndevice "meter": new, STANDALONE\n';
    assert.equal(
      (await provision(home, path, '--dry-run')).stdout,
      `${changes}2 changes to make; nothing was changed.\n`,
    );
    assert.deepEqual(await provision(home, path), {
      status: 0,
      stdout: `${changes}2 changes made.\n`,
      stderr: '',
    });
    assert.equal(
      (await provision(home, path)).stdout,
      'Nothing to change: the gateway is as the file says.\n',
    );
    const refused = siteFile(
      t,
      `users: [{name: ben, role: USER, password: {env: ANNA}}]
blueprints: [{name: broken, file: broken.zip}]
devices: [{slug: pump, name: Pump, type: LUA, blueprint: broken}]`,
      { 'broken.zip': 'no zip' },
    );
    const { status, stdout, stderr } = await provision(home, refused);
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(
      stderr,
      /^Done:\n {2}user "ben": new, USER\nFailed: blueprint "broken": new\n {2}.*\(invalid_body\)\nNot tried:\n {2}device "pump": new, LUA/,
    );
    const [token = ''] = await createTokens(home, 'OWNER', 1);
    const trail = await fetch(`${home.baseUrl}/v3/audit`, { headers: { 'X-Service-Auth-Token': token } });
    const body = await trail.text();
    assert.match(body, /"operation":"admin_provision"/);
    assert.match(body, /"name":"site file"\},"operation":"create_user"/);
    assert.ok(!body.includes(SECRETS.ANNA));
  });
});

test('the first start applies a site file, with the secrets of its environment', async (t) => {
  const made = await temporaryHome(t);
  const path = siteFile(t, FILE.replace('OWNER', 'INSTALLER'));
  const home = { ...made, environment: { ...made.environment, ...SECRETS, GATEWAY_PROVISION_FILE: path } };
  const clock = createSystemClock();
  const gateway = startGateway(home, clock);
  t.after(async () => {
    await gateway.end('SIGTERM');
    clock.close();
  });
  await gateway.healthy();
  const login = JSON.stringify({ name: 'anna', password: SECRETS.ANNA });
  await until(async () => {
    const answer = await fetch(`${home.baseUrl}/v3/auth/claim`);
    return ((await answer.json()) as { claim: { claimed: boolean } }).claim.claimed;
  });
  const answer = await fetch(`${home.baseUrl}/v3/auth/login`, { method: 'POST', body: login });
  assert.equal(answer.status, 200);
});
