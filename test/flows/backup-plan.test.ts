/** Backups by themselves: made by plan, opened and checked, rotated, found missing, and taken back over HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestGateway, type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';

const PLAN = '/v3/backup/plan';
const PASSWORD = 'a long sentence';

interface Plan {
  is_running: boolean;
  is_overdue: boolean;
  last_good_at: string | null;
  last_good_name: string | null;
  last_error: string | null;
}

const planOf = async ({ ok }: TestGateway): Promise<Plan> =>
  (await ok('OWNER', 'GET', PLAN))['backup_plan'] as Plan;

async function run(gateway: TestGateway): Promise<Plan> {
  await gateway.ok('INSTALLER', 'POST', `${PLAN}/run`);
  // The password of a backup costs work on purpose.
  for (;;) {
    const plan = await planOf(gateway);
    if (!plan.is_running) return plan;
    await pause(100);
  }
}

describe('a plan is refused', () => {
  const gateway = useTestGateway();

  test('a backup plan is refused without target or password, with a missing folder, and with an invalid time', async () => {
    for (const [body, field] of [
      [{ schedule: 'DAILY' }, 'target'],
      [{ schedule: 'DAILY', target: '/tmp' }, 'password'],
      [{ target: '/nowhere/at-all' }, 'target'],
      [{ target: 'rsync://nas/x' }, 'target'],
      [{ at: '25:00' }, 'at'],
      [{ keep: 0 }, 'keep'],
      [{ password: 'short' }, 'password'],
    ] as const) {
      const answer = await gateway().call('INSTALLER', 'PATCH', PLAN, body);
      const { errors } = answer.body as { errors: { code: string; details: { field: string } }[] };
      assert.deepEqual([answer.status, errors[0]?.details.field], [400, field], JSON.stringify(body));
    }
    assert.equal((await gateway().call('INSTALLER', 'POST', `${PLAN}/run`)).status, 409);
  });
});

test('a backup plan makes a good backup in its folder, keeps the given number, and shows no secret', async (t) => {
  const gateway = await startTestGateway(t);
  const folder = temporaryFolder(t);
  const shown = await gateway.ok('INSTALLER', 'PATCH', PLAN, {
    target: folder,
    password: PASSWORD,
    target_password: 'of the server',
    keep: 2,
  });
  assert.doesNotMatch(JSON.stringify(shown), /long sentence|of the server/);
  // Two of one second have one name.
  const names = new Set<string>();
  let made = 0;
  for (; names.size < 3; made++) {
    const { last_good_name: name, last_error: error } = await run(gateway);
    assert.equal(error, null);
    names.add(name ?? '');
  }
  assert.deepEqual(readdirSync(folder).sort(), [...names].sort().slice(1));
  assert.deepEqual(
    readdirSync(join(gateway.dataDir, 'backups')).filter((name) => !name.startsWith('state-')),
    [],
  );
  assert.match(
    String((await gateway.call('READONLY', 'GET', '/metrics')).body),
    new RegExp(`gateway_backups_total\\{result="good"\\} ${made}\n`),
  );
});

test('a target that fails is the last error; the last good backup stays known', async (t) => {
  const gateway = await startTestGateway(t);
  const folder = join(temporaryFolder(t), 'stick');
  mkdirSync(folder);
  await gateway.ok('INSTALLER', 'PATCH', PLAN, { target: folder, password: PASSWORD });
  const { last_good_at: good } = await run(gateway);
  renameSync(folder, `${folder}-gone`);
  const after = await run(gateway);
  assert.match(after.last_error ?? '', /There is no folder/);
  assert.equal(after.last_good_at, good);
});

test('a gateway that stops gives up a running backup without a failure notification', async (t) => {
  const gateway = await startTestGateway(t);
  // Takes everything and says nothing.
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  t.after(() => {
    silent.closeAllConnections();
    silent.close();
  });
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const target = `http://127.0.0.1:${port}/dav`;
  await gateway.ok('INSTALLER', 'PATCH', PLAN, { target, password: PASSWORD });
  const asked = once(silent, 'request');
  await gateway.ok('INSTALLER', 'POST', `${PLAN}/run`);
  await asked;
  await gateway.restart();
  const { is_running: isRunning, last_error: error } = await planOf(gateway);
  assert.deepEqual([isRunning, error], [false, null]);
});

test('callers who ask at once get the same key', async (t) => {
  const gateway = await startTestGateway(t);
  const shown = await Promise.all(
    Array.from({ length: 5 }, () =>
      gateway.ok('INSTALLER', 'PATCH', PLAN, {
        target: 'sftp://box@nas.invalid/backups',
        password: PASSWORD,
      }),
    ),
  );
  const keys = shown.map(
    ({ backup_plan: plan }) => (plan as { sftp_public_key: string | null }).sftp_public_key,
  );
  // The key is absent where the program that makes it is not installed.
  assert.match(keys[0] ?? 'ssh-ed25519 ', /^ssh-ed25519 /);
  assert.equal(new Set(keys).size, 1);
});

test('a backup with history, uploaded to another box, brings devices and telemetry back', async (t) => {
  const first = await startTestGateway(t);
  const folder = temporaryFolder(t);
  const device = await first.provision('Meter');
  await device.connect();
  await device.telemetry({ battery_soc: 55 });
  const latest = async ({ ok }: TestGateway, as: Parameters<typeof ok>[0]) =>
    JSON.stringify(
      await ok(
        as,
        'GET',
        `/v3/telemetry/latest?devices[${device.id}]=battery_soc&relevance_interval=1h`,
      ).catch(() => ({})),
    );
  await until(async () => (await latest(first, 'OWNER')).includes('55'));
  const { token } = await first.ok('INSTALLER', 'POST', '/v3/auth/tokens', { name: 'x', role: 'OWNER' });
  await first.ok('INSTALLER', 'PATCH', PLAN, { target: folder, password: PASSWORD, include_history: true });
  const made = await run(first);
  assert.equal(made.last_error, null);
  const bytes = readFileSync(join(folder, made.last_good_name ?? ''));

  const second = await startTestGateway(t);
  const refused = await second.call('INSTALLER', 'POST', '/v3/backup/restore', { password: PASSWORD });
  assert.equal(refused.status, 422);
  const upload = await second.request('INSTALLER', 'POST', '/v3/backup/upload', bytes);
  assert.deepEqual(await upload.json(), { upload: { size_bytes: bytes.length } });
  const wrong = await second.call('INSTALLER', 'POST', '/v3/backup/restore', {
    password: 'another sentence',
  });
  assert.deepEqual([wrong.status, existsSync(join(second.dataDir, 'restore'))], [422, false]);
  const { restore } = await second.ok('INSTALLER', 'POST', '/v3/backup/restore', { password: PASSWORD });
  assert.equal((restore as { includes_history: boolean }).includes_history, true);
  await second.restart();
  const as = { token: token as string };
  await until(async () => {
    await pause(200);
    return (await latest(second, as)).includes('55');
  });
});
