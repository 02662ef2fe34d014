import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../support/test-gateway.ts';
import { TestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

/** The same story with both clocks, so that either can be used anywhere. */
for (const [title, clockOf] of [
  ['the system’s clock', () => undefined],
  ['a test clock', () => new TestClock()],
] as const)
  test(`a device is provisioned, connects, sends values and logs, and obeys a command, by ${title}`, async (t) => {
    const clock = clockOf();
    const gateway = await startTestGateway(t, clock ? { clock } : {});
    const device = await gateway.provision('Battery 1');
    const path = `/v3/devices/${device.slug}`;
    const { device: fresh } = await gateway.ok('READONLY', 'GET', `${path}?expand=connectivity`);
    assert.deepEqual((fresh as Record<string, unknown>)['connectivity'], { status: 'OFFLINE' });
    const logs = await gateway.watch('USER', `${path}/logs`);
    await device.connect();
    device.obey({ mode: 'backup' });
    await device.telemetry({ battery_soc: 81.5 });
    await device.properties({ serial_number: 'X1' });
    await device.log('hello', { severity: 'warning' });

    // A test clock runs while the device waits for its acknowledgements, on a busy machine for more than the usual 30 s.
    const latest = `${path}/telemetry?attribute.in=battery_soc&relevance_interval=1h`;
    const { telemetry } = await gateway.ok('READONLY', 'GET', latest);
    assert.equal((telemetry as { battery_soc: { value: number } }).battery_soc.value, 81.5);
    const { device: wire } = await gateway.ok(
      'READONLY',
      'GET',
      `${path}?expand=properties,connectivity,raised_alert_names`,
    );
    assert.deepEqual((wire as Record<string, unknown>)['properties'], { serial_number: 'X1' });
    assert.deepEqual((wire as Record<string, unknown>)['connectivity'], { status: 'ONLINE' });
    const { execution } = await gateway.settled(
      gateway.ok('USER', 'POST', `${path}/commands/execute`, { name: 'read_settings' }),
    );
    assert.equal((execution as { state: string }).state, 'SUCCESS');
    await until(() => logs.messages.length > 0);
    assert.equal((logs.messages[0] as { message: string }).message, 'hello');
    logs.close();
  });
