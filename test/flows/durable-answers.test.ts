/** No message is acknowledged, and no effect happens outside, before it is synced to the disk. */
import assert from 'node:assert/strict';
import { fdatasync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { settle } from '../support/test-clock.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const sync = promisify(fdatasync);

/** A disk that can be held up. */
function slowDisk() {
  let open = Promise.resolve();
  let resume = (): void => undefined;
  return {
    syncFile: (descriptor: number) => open.then(() => sync(descriptor)),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      [open, resume] = [promise, resolve];
    },
    resume: () => resume(),
  };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await settle();
}

describe('while the disk does not finish a sync', () => {
  test('a change is not answered while the disk does not finish a sync, and reads are', async (t) => {
    const disk = slowDisk();
    t.after(() => disk.resume());
    const gateway = await startTestGateway(t, { syncFile: disk.syncFile });
    disk.hold();
    let answered = false;
    const change = gateway.ok('OWNER', 'POST', '/v3/provisioning/standalone', { name: 'Battery' });
    void change.then(() => (answered = true));
    await turns();
    assert.equal((await gateway.call('READONLY', 'GET', '/v3/site')).status, 200);
    assert.equal(answered, false);
    disk.resume();
    await change;
  });

  test('a command is not sent to the device while the disk does not finish a sync', async (t) => {
    const disk = slowDisk();
    t.after(() => disk.resume());
    const gateway = await startTestGateway(t, { syncFile: disk.syncFile });
    const device = await gateway.provision();
    await device.connect();
    disk.hold();
    const path = `/v3/devices/${device.id}/commands/execute`;
    const execution = gateway.call('OWNER', 'POST', path, { name: 'read_settings' });
    await turns();
    // The gateway has the request by now: whatever it would send is on its way before this answer.
    assert.equal((await gateway.call('READONLY', 'GET', '/v3/site')).status, 200);
    await setTimeout(50);
    assert.deepEqual(device.requests, []);
    device.obey();
    disk.resume();
    assert.equal((await execution).status, 200);
  });

  test('a command that ends before its sync is not sent any more', async (t) => {
    const disk = slowDisk();
    t.after(() => disk.resume());
    const environment = { GATEWAY_COMMAND_TIMEOUT_S: '1' };
    const gateway = await startTestGateway(t, { syncFile: disk.syncFile, environment });
    const device = await gateway.provision();
    await device.connect();
    disk.hold();
    const path = `/v3/devices/${device.id}/commands`;
    const execution = gateway.ok('OWNER', 'POST', `${path}/execute`, { name: 'start' });
    const states = async (): Promise<unknown[]> => {
      const { executions } = await gateway.ok('OWNER', 'GET', `${path}/executions`);
      return (executions as { state: string }[]).map(({ state }) => state);
    };
    await until(async () => (await states()).includes('TIMEOUT'));
    device.obey();
    disk.resume();
    assert.equal(((await execution)['execution'] as { state: string }).state, 'TIMEOUT');
    await gateway.ok('OWNER', 'POST', `${path}/execute`, { name: 'stop' });
    assert.deepEqual(
      device.requests.map(({ name }) => name),
      ['stop'],
    );
  });
});
