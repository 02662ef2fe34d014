/** A restored copy that sends nothing until an owner says so: everything is there, and nobody outside notices it. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startPostServer } from '../support/receivers.ts';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from '../support/workspace.ts';
import { WITH_SANDBOX, withRules } from './rule-support.ts';

const PASSWORD = 'a long sentence';
const REHEARSAL = '/v3/backup/rehearsal';

/** Restores its own backup and starts again, as another box would with it. */
async function rehearse(gateway: TestGateway): Promise<void> {
  const made = await gateway.request('INSTALLER', 'POST', '/v3/backup', { password: PASSWORD });
  const bytes = new Uint8Array(await made.arrayBuffer());
  await gateway.ok('INSTALLER', 'POST', '/v3/backup/upload', bytes);
  await gateway.ok('INSTALLER', 'POST', '/v3/backup/restore', { password: PASSWORD, rehearsal: true });
  await gateway.restart();
}

/** All that a target has written. */
const contentOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('');

const raisedOfBox = async (gateway: TestGateway): Promise<string[]> => {
  const { devices } = await gateway.ok('READONLY', 'GET', '/v3/devices?expand=raised_alert_names');
  const own = (devices as { type: string; raised_alert_names?: string[] }[]).find(
    ({ type }) => type === 'GATEWAY',
  );
  return own?.raised_alert_names ?? [];
};

test('a rehearsal has everything of the backup, and sends nothing until an owner ends it', async (t) => {
  const gateway = await startTestGateway(t, WITH_SANDBOX);
  const rules = withRules(gateway);
  const stick = join(temporaryFolder(t), 'stick');
  mkdirSync(stick);
  const hook = await startPostServer(t);
  const device = await gateway.provision('Battery');
  const target = { name: 'stick', kind: 'FOLDER', folder: { path: stick, piece_minutes: 1_440 } };
  const { target: made } = await gateway.ok('OWNER', 'POST', '/v3/targets', target);
  const channel = { name: 'Hook', kind: 'WEBHOOK', webhook: { url: hook.url } };
  const { notification_channel: added } = await gateway.ok(
    'OWNER',
    'POST',
    '/v3/notification_channels',
    channel,
  );
  await rules.create('greets', "enapter.log('runs')");
  await rules.becomes('greets', 'STARTED');
  await rehearse(gateway);
  const kept = contentOf(stick);

  const { rehearsal } = await gateway.ok('READONLY', 'GET', REHEARSAL);
  const { is_on: isOn, began_at: beganAt } = rehearsal as { is_on: boolean; began_at: string };
  assert.equal(isOn, true);
  assert.match(beganAt, /^20/);
  assert.ok(
    gateway.lines.some(({ message, level }) => level === 'warn' && message.startsWith('this is a rehearsal')),
  );
  await until(async () => (await raisedOfBox(gateway)).includes('rehearsal'));

  await device.connect();
  const execute = `/v3/devices/${device.id}/command_executions`;
  const command = { name: 'set_charge_limit', arguments: { limit_w: 500 } };
  for (const [path, body] of [
    [execute, command],
    [`/v3/targets/${(made as { id: string }).id}/test`, undefined],
    [`/v3/notification_channels/${(added as { id: string }).id}/test`, undefined],
    ['/v3/backup/plan/run', undefined],
  ] as const)
    assert.equal(refusal(await gateway.call('INSTALLER', 'POST', path, body)), '409 in_rehearsal', path);
  const { total_count: recorded } = await gateway.ok('READONLY', 'GET', execute);
  assert.equal(recorded, 0);
  await device.telemetry({ battery_power: 7, alerts: ['made_up'] });
  await until(async () => {
    const { alerts } = await gateway.ok('READONLY', 'GET', `/v3/alerts?device_id=${device.id}`);
    return (alerts as unknown[]).length > 0;
  });
  assert.notEqual(await rules.state('greets'), 'STARTED');

  assert.equal((await gateway.call('USER', 'POST', `${REHEARSAL}/end`)).status, 403);
  assert.deepEqual([hook.posts, device.requests, contentOf(stick)], [[], [], kept]);
  await gateway.ok('OWNER', 'POST', `${REHEARSAL}/end`);
  assert.equal(existsSync(join(gateway.dataDir, 'rehearsal.json')), false);
  await gateway.restart();

  assert.equal(refusal(await gateway.call('OWNER', 'POST', `${REHEARSAL}/end`)), '409 no_rehearsal');
  await rules.becomes('greets', 'STARTED');
  await device.connect();
  await gateway.ok('OWNER', 'POST', execute, command);
  await until(() => device.requests.length === 1);
  await device.telemetry({ battery_power: 8, alerts: ['another'] });
  await until(() => hook.posts.length > 0 && contentOf(stick).length > kept.length);
  assert.ok(!(await raisedOfBox(gateway)).includes('rehearsal'));
});

test('a device that asks for its configuration gets none from a rehearsal', async (t) => {
  const gateway = await startTestGateway(t);
  const device = await gateway.provision('Battery');
  const received: string[] = [];
  device.onMessage = (topic) => void received.push(topic);
  const topic = `v1/to/${device.config.hardwareId}/${device.config.channelId}/v1/configuration`;
  const ask = async (): Promise<void> => {
    await device.open();
    await device.subscribe(topic);
    await device.publish(device.from('v1/configuration/read'), '{}');
  };
  await ask();
  await until(() => received.length === 1);
  await rehearse(gateway);
  await ask();
  // Acknowledged by the disk, as what was asked for before would have been sent by then.
  await device.telemetry({ battery_power: 1 });
  await device.telemetry({ battery_power: 2 });
  assert.deepEqual(received, [topic]);
});
