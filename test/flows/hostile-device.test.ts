/** A device that sends anything at all: the gateway stays well, acknowledges, and other devices do not notice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { startTestGateway } from '../support/test-gateway.ts';
import { runs } from '../support/runs.ts';

const SUBJECTS = [
  'v1/telemetry',
  'v1/register',
  'v1/properties',
  'v3/logs',
  'v1/logs',
  'v1/command/responses',
  'v1/configuration/read',
  'v9/unknown',
];

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'timestamp',
  'alerts',
  'alert_details',
  'id',
  'state',
  'payload',
  'message',
  'severity',
  'persist',
  'battery_soc',
  'status',
  'conn_alerts',
  'grid_connected',
  'vendor',
  'battery_type',
];

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, [], {}, '', 0, -0, 1e308, -1e308, 2 ** 53, 4e12, -1, true, '\u0000', '\ud800'),
  fc.array(fc.constantFrom('battery_low', '', '__proto__', 'x'.repeat(300)), { maxLength: 4 }),
);
const object = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), fc.string()), value), { maxLength: 8 })
  .map(
    (entries) =>
      `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join(',')}}`,
  );
const payload = fc.oneof(
  { weight: 6, arbitrary: object.map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: object.map((text) => Buffer.from(text.slice(0, -1))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.constant(Buffer.from(`{"a":9007199254740993,"battery_soc":1e400,"status":"idle"}`)),
  },
);

test('any message of a device is acknowledged, and nothing fails', async (t) => {
  const gateway = await startTestGateway(t);
  const hostile = await gateway.provision('Hostile');
  const good = await gateway.provision('Good');
  await hostile.connect();
  await good.connect();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...SUBJECTS), payload), { minLength: 150, maxLength: 150 }),
      async (messages) => {
        await Promise.all(messages.map(([subject, bytes]) => hostile.publish(hostile.from(subject), bytes)));
        const path = '/v3/devices/hostile?expand=properties,raised_alert_names,connectivity';
        await gateway.ok('INSTALLER', 'GET', path);
        await gateway.ok('INSTALLER', 'GET', '/v3/devices/hostile/telemetry?relevance_interval=1y');
        await gateway.ok('INSTALLER', 'GET', '/v3/devices/hostile/logs?limit=50');
      },
    ),
    { numRuns: runs(4) },
  );
  await good.telemetry({ battery_soc: 7 });
  const { telemetry } = await gateway.ok(
    'USER',
    'GET',
    '/v3/devices/good/telemetry?attribute.in=battery_soc',
  );
  assert.equal((telemetry as { battery_soc: { value: number } }).battery_soc.value, 7);
  const failures = gateway.lines.filter(({ level }) => level === 'error' || level === 'fatal');
  assert.deepEqual(failures, []);
  await gateway.restart();
  await gateway.ok('INSTALLER', 'GET', '/v3/devices/hostile?expand=properties,raised_alert_names');
  await gateway.ok('INSTALLER', 'GET', '/v3/devices/hostile/telemetry?relevance_interval=1y');
});
