/** What is made before the clock is set has its true moment afterwards, whatever it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { sampleBlueprint } from '../support/samples.ts';
import { TestClock } from '../support/test-clock.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

type Row = Record<string, unknown>;

/** Moments that the API tells of what was made. */
async function moments({ ok }: TestGateway): Promise<Record<string, unknown>> {
  const read = async (path: string, member: string): Promise<Row[]> =>
    (await ok('INSTALLER', 'GET', path))[member] as Row[];
  const [target = {}] = await read('/v3/targets', 'targets');
  const [channel = {}] = await read('/v3/notification_channels', 'notification_channels');
  const blueprints = await read('/v3/blueprints', 'blueprints');
  const devices = await read('/v3/devices', 'devices');
  const users = await read('/v3/auth/users', 'users');
  return {
    ...Object.fromEntries(blueprints.map(({ id, created_at: at }) => [`blueprint ${String(id)}`, at])),
    ...Object.fromEntries(devices.map(({ id, updated_at: at }) => [`device ${String(id)}`, at])),
    ...Object.fromEntries(users.map(({ id, created_at: at }) => [`user ${String(id)}`, at])),
    'target made': target['created_at'],
    'target changed': target['updated_at'],
    'channel made': channel['created_at'],
  };
}

async function makeAll(gateway: TestGateway): Promise<void> {
  const { ok } = gateway;
  const zip = await zipOf(sampleBlueprint('modbus-inverter'));
  await ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  await gateway.provision('Battery');
  await ok('INSTALLER', 'POST', '/v3/auth/users', {
    name: 'ida',
    role: 'USER',
    password: 'a long enough password',
  });
  const influxdb = { url: 'http://127.0.0.1:1/write' };
  await ok('OWNER', 'POST', '/v3/targets', { name: 'engine', kind: 'INFLUXDB', influxdb });
  const webhook = { url: 'http://127.0.0.1:1/hook' };
  await ok('OWNER', 'POST', '/v3/notification_channels', { name: 'Hook', kind: 'WEBHOOK', webhook });
}

const SET_MS = Date.UTC(2026, 2, 1, 8);

test('everything made in 1970 is dated today once the clock is set, and after a restart', async (t) => {
  const clock = new TestClock(60_000);
  const gateway = await startTestGateway(t, { clock });
  await makeAll(gateway);
  const wrong = Object.entries(await moments(gateway)).filter(([, at]) => String(at).startsWith('1970-'));
  assert.deepEqual(
    [...new Set(wrong.map(([what]) => what.replace(/ [0-9a-f-]{36}$/, '')))],
    ['blueprint', 'device', 'user', 'target made', 'target changed', 'channel made'],
  );

  clock.step(SET_MS - clock.wallMs());
  const right = await moments(gateway);
  for (const [what, at] of Object.entries(right)) assert.match(String(at), /^2026-03-01T0[78]:/, what);

  clock.step(60_000);
  assert.deepEqual(await moments(gateway), right);
  await gateway.restart();
  assert.deepEqual(await moments(gateway), right);
});

test('a thing made while the clock was ahead is not in the future once the clock is put back', async (t) => {
  const clock = new TestClock(SET_MS);
  const gateway = await startTestGateway(t, { clock });
  clock.step(10 * 365 * 86_400_000);
  await makeAll(gateway);
  clock.step(SET_MS - clock.wallMs());
  for (const [what, at] of Object.entries(await moments(gateway)))
    assert.match(String(at), /^2026-03-01T0[78]:/, what);
});

test('a thing made in 1970 by an earlier run gets the start of the run with a right clock', async (t) => {
  const first = await startTestGateway(t, { clock: new TestClock(60_000) });
  await makeAll(first);
  await first.stop();
  const second = await startTestGateway(t, { clock: new TestClock(SET_MS), dataDir: first.dataDir });
  for (const [what, at] of Object.entries(await moments(second)))
    assert.match(String(at), /^2026-03-01T08:/, what);
});
