/** Properties of devices (docs/interface/mqtt-devices.md#properties; docs/interface/http.md#expand). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { decodeMessage } from '../../../src/protocol/device-message.ts';
import { parseExactJson, unstorableNumber } from '../../../src/lib/json.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { type DevicesSetup, startDevices } from './support.ts';
import { runs } from '../../support/runs.ts';

/** One message as it comes from the decoder; resolves when it is acknowledged. */
async function take({ devices, clock, commits }: DevicesSetup, device: Device, body: unknown): Promise<void> {
  const decoded = decodeMessage(
    Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    { keyLength: 128, depth: 16, values: 1_000 },
    { exact: true, mayBeEmpty: true },
  );
  assert.equal(decoded.problem, undefined);
  const stored = devices.takeProperties({
    device,
    body: decoded.body ?? {},
    receivedAtMs: clock.wallMs(),
  });
  await commits.flush();
  await stored;
}

describe('a property is not taken', () => {
  const rows: [title: string, body: Record<string, unknown> | string, complaint: RegExp][] = [
    ['of another type than declared', { vendor: 5 }, /Property "vendor" must be string, got integer/],
    ['outside its enum', { battery_type: 'lemon' }, /must be one of: lead_based/],
    ['with a fraction where an integer is declared', { battery_nameplate_capacity: 1.5 }, /must be integer/],
    ['with too long a name', { ['x'.repeat(11)]: 1 }, /The name of a property is too long/],
    ['with too large a value', { model: 'x'.repeat(99) }, /has more than 100 bytes/],
    [
      'beyond 64 bits',
      '{"battery_nameplate_capacity":18446744073709551616}',
      /has an integer of more than 64 bits/,
    ],
    ['too large to be finite', '{"model":1e999}', /has a number that is not finite/],
  ];
  for (const [title, body, complaint] of rows)
    test(`a property is not taken: ${title}; the others of its message are`, async (t) => {
      const setup = startDevices(t, { propertyBytes: 100, propertyNameLength: 26 });
      const device = setup.add();
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const long = title.includes('name') ? `"${'x'.repeat(27)}":1,` : '';
      await take(setup, device, `{${long}${text.slice(1, -1)},"serial_number":"S1"}`);
      assert.deepEqual(setup.devices.properties(device, 'OWNER'), { serial_number: 'S1' });
      assert.match(setup.told.find((line) => line.startsWith('rejected')) ?? '', complaint);
    });

  test('a property is not taken when the device has too many; known ones still change', async (t) => {
    const setup = startDevices(t, { propertiesPerDevice: 2 });
    const device = setup.add();
    await take(setup, device, { vendor: 'A', model: 'B', serial_number: 'C' });
    await take(setup, device, { model: 'D' });
    assert.deepEqual(setup.devices.properties(device, 'OWNER'), { vendor: 'A', model: 'D' });
    await take(setup, device, { vendor: null, serial_number: 'C' });
    assert.deepEqual(setup.devices.properties(device, 'OWNER'), { model: 'D', serial_number: 'C' });
  });

  test('a property that is not taken is reported to its device once an hour', async (t) => {
    const setup = startDevices(t);
    const device = setup.add();
    const complaints = (): number => setup.told.filter((line) => line.startsWith('rejected')).length;
    for (let second = 0; second < 3; second++) await take(setup, device, { vendor: 1, model: 2 });
    assert.equal(complaints(), 2);
    await setup.clock.advance(3_600_000);
    await take(setup, device, { vendor: 1 });
    assert.equal(complaints(), 3);
  });
});

describe('a device that says too much', () => {
  const complaintsOf = ({ told }: DevicesSetup): string[] =>
    told.filter((line) => line.startsWith('rejected'));

  test('a device with too many properties is warned once, and known ones can still change and shrink', async (t) => {
    const setup = startDevices(t, { propertiesBytesPerDevice: 100 });
    const device = setup.add();
    await take(setup, device, {
      vendor: 'A'.repeat(50),
      model: 'B'.repeat(50),
      serial_number: 'C'.repeat(50),
    });
    await take(setup, device, { serial_number: 'C'.repeat(50) });
    assert.deepEqual(setup.devices.properties(device, 'OWNER'), { vendor: 'A'.repeat(50) });
    assert.deepEqual(
      complaintsOf(setup).map((line) => /have more than 100 bytes together/.test(line)),
      [true],
    );
    await take(setup, device, { vendor: 'D'.repeat(50) });
    await take(setup, device, { vendor: 'E', model: 'B'.repeat(50) });
    assert.deepEqual(setup.devices.properties(device, 'OWNER'), { vendor: 'E', model: 'B'.repeat(50) });
    const again = setup.restart();
    await setup.commits.flush();
    assert.deepEqual(again.properties(device, 'OWNER'), { vendor: 'E', model: 'B'.repeat(50) });
  });

  test('a device that invents names is warned once of their number, and a bounded number of times of other faults', async (t) => {
    const setup = startDevices(t, { propertiesPerDevice: 10, propertyBytes: 20, reportsPerDevice: 5 });
    const device = setup.add();
    const names = (prefix: string, value: unknown): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${prefix}${index}`, value]));
    await take(setup, device, names('a', 1));
    assert.equal(complaintsOf(setup).length, 1);
    for (const prefix of ['b', 'c', 'd']) await take(setup, device, names(prefix, 'x'.repeat(30)));
    assert.equal(complaintsOf(setup).length, 5);
  });
});

describe('properties', () => {
  test('properties are merged message by message; null removes; the timestamp is none', async (t) => {
    const setup = startDevices(t);
    const device = setup.add();
    await take(setup, device, { timestamp: 5, vendor: 'A', model: 'B' });
    await take(setup, device, { timestamp: 6, model: 'C', serial_number: 'S' });
    await take(setup, device, { vendor: null, firmware_version: null });
    assert.deepEqual(setup.devices.properties(device, 'OWNER'), { model: 'C', serial_number: 'S' });
  });

  test('properties are on disk when they are acknowledged, and there after a restart', async (t) => {
    const setup = startDevices(t);
    const device = setup.add();
    await take(setup, device, '{"vendor":"A","__proto__":{"model":"B"}}');
    assert.deepEqual(setup.restart().properties(device, 'OWNER'), { vendor: 'A' });
  });

  test('properties are reported and acknowledged without the disk when nothing changed, unless the first is still being written', async (t) => {
    const setup = startDevices(t);
    const device = setup.add();
    const tell = (): Promise<void> | void =>
      setup.devices.takeProperties({ device, body: { vendor: 'A' }, receivedAtMs: 0 });
    const first = tell();
    const second = tell();
    let isAcknowledged = false;
    void Promise.resolve(second).then(() => (isAcknowledged = true));
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(isAcknowledged, false);
    await setup.commits.flush();
    await Promise.all([first, second]);
    assert.equal(tell(), undefined);
    const changes = setup.told.filter((line) => line.startsWith('properties'));
    const told = 'properties of device-1 {"vendor":"A"}';
    assert.deepEqual(changes, [told, told]);
  });

  test('properties are shown if declared, and to roles that may see them', async (t) => {
    const setup = startDevices(t);
    const device = setup.add();
    await take(setup, device, { vendor: 'A', commissioned_by: 'B', unheard_of: 1, constructor: 2 });
    assert.deepEqual(setup.devices.properties(device, 'USER'), { vendor: 'A' });
    assert.deepEqual(setup.devices.properties(device, 'INSTALLER'), { vendor: 'A', commissioned_by: 'B' });
    assert.equal(
      setup.told.some((line) => line.startsWith('rejected')),
      false,
    );
  });

  test('properties are shown once the blueprint declares them, if they fit', async (t) => {
    const setup = startDevices(t);
    const device = setup.add({ blueprintId: setup.blueprints.builtIn.empty });
    await take(setup, device, { vendor: 'A', model: 5 });
    assert.deepEqual(setup.devices.properties(device, 'OWNER'), {});
    const assigned = setup.devices.assignBlueprint(device, setup.blueprints.builtIn.batteryInverter);
    assert.deepEqual(setup.devices.properties(assigned, 'OWNER'), { vendor: 'A' });
  });

  test('properties may come under an alias, and are held and shown under the declared name', async (t) => {
    const setup = startDevices(t);
    const device = setup.add({ blueprintId: setup.blueprints.builtIn.empty });
    await take(setup, device, { maker: 'A' });
    const blueprintId = await setup.upload(
      'properties:\n  vendor: {display_name: V, type: string, aliases: [brand, maker]}\n' +
        '  size: {display_name: S, type: integer, aliases: width}\n',
    );
    const assigned = setup.devices.assignBlueprint(device, blueprintId);
    assert.deepEqual(setup.devices.properties(assigned, 'OWNER'), { vendor: 'A' });
    await take(setup, assigned, { brand: 'B', width: 5 });
    assert.deepEqual(setup.devices.properties(assigned, 'OWNER'), { vendor: 'B', size: 5 });
    await take(setup, assigned, { width: 'wide', brand: null });
    assert.deepEqual(setup.devices.properties(assigned, 'OWNER'), { size: 5 });
    assert.ok(setup.told.some((line) => line.includes('Property "size" must be integer')));
  });

  test('properties are neither stored nor reported when their device is deleted meanwhile', async (t) => {
    const setup = startDevices(t);
    const device = setup.add();
    const stored = setup.devices.takeProperties({ device, body: { vendor: 'A' }, receivedAtMs: 0 });
    setup.devices.remove(device);
    await setup.commits.flush();
    await stored;
    assert.deepEqual(setup.told, ['created device-1', 'deleted device-1']);
  });

  test('properties never fail for any JSON, and are the merge of the messages after a restart too', async (t) => {
    const setup = startDevices(t);
    const value = fc.jsonValue({ maxDepth: 3 });
    const name = fc.oneof(
      fc.constantFrom('vendor', 'model', '__proto__', 'constructor', 'toString', 'timestamp'),
      fc.string({ maxLength: 12 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.tuple(name, value)), { maxLength: 5 }), async (messages) => {
        const device = setup.add({ blueprintId: setup.blueprints.builtIn.empty });
        const expected = new Map<string, unknown>();
        for (const entries of messages) {
          const text = entries.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`);
          await take(setup, device, `{${text.join(',')}}`);
          const last = new Map(entries);
          for (const [key, item] of last)
            if (item === null) expected.delete(key);
            else if (key !== 'timestamp' && !unstorableNumber(parseExactJson(JSON.stringify(item))))
              expected.set(key, JSON.parse(JSON.stringify(item)));
        }
        const row = setup.database
          .prepare<[string], { property_values: string }>(
            'SELECT property_values FROM device_property WHERE device_id = ?',
          )
          .get(device.id);
        const entries = Object.entries(JSON.parse(row?.property_values ?? '{}') as object);
        assert.deepEqual(new Map(entries), expected);
        setup.devices.remove(device);
      }),
      { numRuns: runs(40) },
    );
  });
});

test('the limits of properties are those of the contract page', () => {
  assert.equal(LIMITS.devices.propertyBytes, 16_384);
  assert.equal(LIMITS.devices.propertyNameLength, 128);
});
