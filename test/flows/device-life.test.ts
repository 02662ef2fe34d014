/** Stories of a device across capabilities, on the whole gateway with a real MQTT client. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { TestClock } from '../support/test-clock.ts';
import type { MockDevice } from '../support/mock-device.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

const CSV = { Accept: 'text/csv' };

async function csvOf(
  { call, settled }: TestGateway,
  device: MockDevice,
  aggregation: string,
): Promise<string> {
  const body = {
    from: '2020-01-01T00:00:00Z',
    to: '2100-01-01T00:00:00Z',
    granularity: '365d',
    telemetry: [{ device: device.slug, attribute: 'battery_soc', aggregation }],
  };
  const answer = await settled(call('USER', 'POST', '/v3/telemetry/query_timeseries', body, CSV));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return String(answer.body);
}

const valuesOf = (csv: string): string[] =>
  csv
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((row) => row.split(',')[1] ?? '');

describe('a device', () => {
  test('a device is told to be OFFLINE 10 s after it went, and cannot be commanded meanwhile', async (t) => {
    const clock = new TestClock();
    const gateway = await startTestGateway(t, { clock });
    const device = await gateway.provision('Battery');
    const path = `/v3/devices/${device.slug}`;
    const status = async (): Promise<unknown> =>
      ((await gateway.ok('USER', 'GET', `${path}?expand=connectivity`))['device'] as Json)['connectivity'];
    const command = () => gateway.call('USER', 'POST', `${path}/commands/executions`, { name: 'start' });
    const monitor = await gateway.watch('USER', '/v3/devices?id.in=battery');

    assert.equal(refusal(await command()), '422 device_offline');
    await device.open();
    // Connected, and deaf.
    assert.equal(refusal(await command()), '422 device_offline');
    assert.deepEqual(await status(), { status: 'ONLINE' });
    await device.subscribe(device.requestTopic);
    assert.equal((await command()).status, 200);
    await device.leave();
    await until(async () => refusal(await command()) === '422 device_offline');
    await clock.advance(9_900);
    assert.deepEqual(await status(), { status: 'ONLINE' });
    await clock.advance(10_000);
    assert.deepEqual(await status(), { status: 'OFFLINE' });
    await until(() => monitor.messages.length >= 2);
    assert.deepEqual(
      monitor.messages.flatMap((message) => (message as Json)['connectivity'] ?? []),
      [{ status: 'ONLINE' }, { status: 'OFFLINE' }],
    );
    monitor.close();
  });

  test('a device keeps all that was acknowledged over a restart, and is OFFLINE after it', async (t) => {
    const gateway = await startTestGateway(t);
    const device = await gateway.provision('Battery');
    const path = `/v3/devices/${device.slug}`;
    await device.connect();
    device.obey({ done: true });
    const nowS = Math.floor(Date.now() / 1_000);
    for (let number = 1; number <= 5; number++)
      await device.telemetry({ timestamp: nowS - 10 + number, battery_soc: number, alerts: ['battery_low'] });
    await device.properties({ vendor: 'A' });
    await device.log('kept', { persist: true, severity: 'error' });
    await gateway.ok('OWNER', 'PATCH', `${path}/configuration/limits`, { set: { minimum_soc_percent: 42 } });
    await gateway.ok('USER', 'POST', `${path}/commands/execute`, { name: 'start' });
    const read = async (): Promise<unknown> => ({
      device: await gateway.ok('USER', 'GET', `${path}?expand=properties,raised_alert_names,manifest`),
      latest: await gateway.ok(
        'USER',
        'GET',
        `${path}/telemetry?attribute.in=battery_soc&relevance_interval=1h`,
      ),
      logs: await gateway.ok('USER', 'GET', `${path}/logs?retention=PERSISTENT`),
      configuration: await gateway.ok('OWNER', 'GET', `${path}/configuration/limits`),
      executions: await gateway.ok('USER', 'GET', `${path}/command_executions?expand=log`),
      csv: await csvOf(gateway, device, 'max'),
    });
    const before = await read();
    assert.deepEqual(valuesOf((before as { csv: string }).csv), ['5']);

    await gateway.restart();
    assert.deepEqual(await read(), before);
    const { device: offline } = await gateway.ok('USER', 'GET', `${path}?expand=connectivity`);
    assert.deepEqual((offline as Json)['connectivity'], { status: 'OFFLINE' });

    await device.connect();
    await device.telemetry({ timestamp: nowS, battery_soc: 9 });
    assert.deepEqual(valuesOf(await csvOf(gateway, device, 'max')), ['9']);
  });

  test('a device loses its sessions with a new configuration, and only the new one logs in', async (t) => {
    const gateway = await startTestGateway(t);
    const device = await gateway.provision('Battery');
    const sessions = [await device.connect(), await device.open()];
    const { config } = await gateway.ok('OWNER', 'POST', `/v3/devices/${device.id}/generate_config`, {
      protocol: 'MQTT',
    });
    await Promise.all(sessions.map(({ closed }) => closed));
    await assert.rejects(device.open(), /Connection refused|Not authorized|Bad/i);
    device.take(config);
    await device.connect();
    await device.telemetry({ battery_soc: 1 });
  });

  test('a device is gone with everything at once when it is deleted', async (t) => {
    const gateway = await startTestGateway(t);
    const device = await gateway.provision('Battery');
    const path = `/v3/devices/${device.slug}`;
    const session = await device.connect();
    await device.telemetry({ battery_soc: 50 });
    await device.log('gone soon');
    const streams = await Promise.all(
      [`${path}/logs`, `${path}/telemetry`, `/v3/devices?id.in=${device.slug}`].map((stream) =>
        gateway.watch('USER', stream),
      ),
    );
    const everything = await gateway.watch('USER', '/v3/devices');
    await gateway.ok('OWNER', 'DELETE', path);
    await session.closed;
    for (const { closed } of streams) assert.equal((await closed).code, 1008);
    everything.close();
    assert.equal((await everything.closed).code, 1005);
    await assert.rejects(device.open(), /refused|authorized|bad/i);
    for (const suffix of [
      '',
      '/manifest',
      '/telemetry',
      '/logs',
      '/command_executions',
      '/configuration/limits',
    ])
      assert.equal(
        refusal(await gateway.call('OWNER', 'GET', path + suffix)),
        '404 device_not_found',
        suffix,
      );
    // A device of the same name begins with nothing.
    const again = await gateway.provision('Battery');
    assert.equal(again.slug, device.slug);
    assert.deepEqual(await gateway.ok('USER', 'GET', `${path}/logs`), { logs: [], total_count: 0 });
    assert.deepEqual(valuesOf(await csvOf(gateway, again, 'last')), []);
  });

  test('a device is refused a foreign topic, a wrong password and an oversize message', async (t) => {
    const gateway = await startTestGateway(t);
    const [one, two] = [await gateway.provision('One'), await gateway.provision('Two')];
    await one.connect();
    assert.equal(await one.subscribe(two.requestTopic), 128);
    assert.equal(await one.subscribe('#'), 128);
    // Acknowledged and dropped: the other device's telemetry, below, stays empty.
    await one.publish(two.from('v1/telemetry'), '{"battery_soc":1}');
    await assert.rejects(one.publish(one.from('v1/telemetry'), Buffer.alloc(262_145, 0x20)), /closed/i);
    await assert.rejects(one.open({ password: 'wrong' }), /refused|bad/i);
    await assert.rejects(one.open({ username: '', password: '' }), /refused|authorized|bad/i);
    const { telemetry } = await gateway.ok(
      'USER',
      'GET',
      '/v3/devices/two/telemetry?attribute.in=battery_soc',
    );
    assert.deepEqual(Object.keys((telemetry as Record<string, Json>)['battery_soc'] ?? {}), ['warning']);
  });

  test('a device has its own mistakes in its log', async (t) => {
    const gateway = await startTestGateway(t);
    const device = await gateway.provision('Battery');
    await device.connect();
    await device.publish(device.from('v1/telemetry'), '{');
    await device.telemetry({ battery_soc: 'full' });
    await device.properties({ vendor: 5 });
    const logs = async (): Promise<string[]> => {
      const { logs: entries } = await gateway.ok('USER', 'GET', `/v3/devices/${device.slug}/logs`);
      return (entries as Json[]).map(({ severity, message }) => `${String(severity)}: ${String(message)}`);
    };
    await until(async () => (await logs()).length >= 3);
    const [broken = '', wrong = '', property = ''] = await logs();
    assert.match(broken, /^error: A message is not JSON/);
    assert.match(wrong, /^warning: Telemetry "battery_soc": /);
    assert.match(property, /^warning: Property "vendor" must be string/);
  });
});

test('the gateway reports about itself like a device', async (t) => {
  const gateway = await startTestGateway(t);
  const path = '/v3/devices/gateway';
  await until(async () => {
    const { telemetry } = await gateway.ok('USER', 'GET', `${path}/telemetry?attribute.in=uptime_s,status`);
    return Object.values(telemetry as Json).every((value) => 'value' in (value as Json));
  });
  const { device } = await gateway.ok('USER', 'GET', `${path}?expand=connectivity,properties`);
  const { connectivity, properties } = device as { connectivity: Json; properties: Json };
  assert.deepEqual(connectivity, { status: 'ONLINE' });
  assert.equal(properties['version'], '0.0.0-test');
});
