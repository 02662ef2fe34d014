/** Scans of a module on a serial line and a network in memory, beside scripts that live there. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import { createModbusUnits } from '../../../scripts/simulate/modbus-device.ts';
import { createPlant, DEFAULT_SETTINGS, NO_ENERGY } from '../../../scripts/simulate/plant.ts';
import { createRandom } from '../../../scripts/support/random.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { FieldBus, type ModbusClient } from '../../../src/field-module/field/index.ts';
import { decodeRtuFrame, encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { Scans } from '../../../src/field-module/scan/scans.ts';
import type { FromModule, ToModule } from '../../../src/protocol/module.ts';
import { TestClock } from '../../support/test-clock.ts';
import { fakeSerialDevice, played, SETTINGS } from '../field/serial-device.ts';
import { streamPair } from '../../support/stream-pair.ts';

type Order = ToModule & { type: 'scan' };
const FIELD = LIMITS.field;

function setUp() {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const plant = createPlant({
    random: createRandom(1),
    hourOfDay: 12,
    socPercent: 60,
    mishapsPerDay: 0,
    energy: NO_ENERGY,
    settings: DEFAULT_SETTINGS,
  });
  const reading = plant.advance(1);
  const units = createModbusUnits(plant, () => reading);
  device.onWrite = (bytes) => {
    const frame = decodeRtuFrame(bytes);
    const answer = frame && units.answer(frame.unitId, frame.pdu);
    if (frame && answer) device.say(encodeRtuFrame(frame.unitId, answer));
  };
  const port = { path: '/dev/ttyUSB0', ...SETTINGS };
  const bus = new FieldBus({
    clock,
    ports: { rs485: port, second: port },
    openSerialLine: () => device.open,
    dial: ({ host }) => {
      if (host === 'hangs-up') {
        const { client, server } = streamPair();
        server.on('data', () => server.destroy());
        return Promise.resolve(client);
      }
      return Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }));
    },
  });
  const said: FromModule[] = [];
  const ends: (() => void)[] = [];
  const scans = new Scans({
    bus,
    clock,
    limits: FIELD,
    send: (message) => {
      said.push(message);
      if (message.type === 'scan_end') for (const end of ends.splice(0)) end();
    },
    onFault: (error) => assert.fail(String(error)),
  });
  const order = (fields: Partial<Order> = {}): Order => ({
    type: 'scan',
    id: 's1',
    uri: 'port://rs485',
    first_unit: 1,
    last_unit: 3,
    timeout_ms: 100,
    ...fields,
  });
  const run = async (fields: Partial<Order> = {}): Promise<string[]> => {
    const ended = new Promise<void>((resolve) => ends.push(resolve));
    scans.start(order(fields));
    await played(clock, ended, FIELD.scanMs + 60_000);
    return summary();
  };
  const summary = (): string[] =>
    said
      .splice(0)
      .map((message) =>
        message.type === 'scan_unit'
          ? `${message.unit_id} ${message.outcome} ${message.sunspec?.model ?? message.reason ?? ''}`.trim()
          : message.type === 'scan_end'
            ? `end ${message.outcome} ${message.reason ?? ''}`.trim()
            : message.type,
      );
  const script = (uri = 'port://rs485'): ModbusClient => {
    const client = bus.modbus(uri);
    return typeof client === 'string' ? assert.fail(client) : client;
  };
  return { clock, device, units, bus, scans, order, run, summary, said, script };
}

describe('a scan of a serial line', () => {
  test('a scan of a serial line reports each unit in order, whether it answers and what it is', async () => {
    const { run } = setUp();
    assert.deepEqual(await run(), [
      '1 answers Hybrid inverter',
      '2 answers Power meter',
      '3 silent',
      'end complete',
    ]);
  });

  test('a scan of a serial line reports why the line cannot be used', async () => {
    const { run, device } = setUp();
    device.refusal = Object.assign(new Error('no'), { code: 'ENOENT' });
    assert.deepEqual(await run(), ['end unreachable no such device file']);
    assert.match(String(await run({ uri: 'port://none' })), /end no_port .*"none" is not available/);
    assert.match(String(await run({ uri: 'gio://a' })), /end no_port/);
  });

  test('a scan of a serial line distinguishes a wrong checksum from silence', async () => {
    const { run, device } = setUp();
    device.onWrite = (bytes) => device.say(Buffer.of(bytes[0] ?? 0, 3, 2, 0, 1, 0, 0));
    assert.deepEqual(await run({ last_unit: 1 }), ['1 garbled wrong checksum', 'end complete']);
  });

  test('a scan of a serial line uses settings of its own, and leaves the line as it was', async () => {
    const { run, device, script, clock } = setUp();
    await run({ baud_rate: 19_200, parity: 'E' });
    assert.deepEqual(device.openings, [{ ...SETTINGS, baudRate: 19_200, parity: 'E' }]);
    await played(clock, script().request(1, { kind: 'read_holdings', start: 0, count: 1 }));
    assert.deepEqual(device.openings[1], SETTINGS);
  });

  test('a scan of a serial line is refused other settings while a script uses the line', async () => {
    const { run, script, clock } = setUp();
    await played(clock, script().request(1, { kind: 'read_holdings', start: 0, count: 1 }));
    assert.deepEqual(await run({ baud_rate: 19_200 }), [
      'end in_use a script uses the line with other settings',
    ]);
    await clock.advance(FIELD.idleMs);
    assert.equal((await run({ baud_rate: 19_200 })).at(-1), 'end complete');
  });

  test('a scan of a serial line waits while a script uses the line, and every answer of the script is its own', async () => {
    const { scans, order, script, clock, summary } = setUp();
    let answers = 0;
    const read = (): Promise<unknown> =>
      script()
        .request(2, { kind: 'read_inputs', start: 0, count: 1 }, 500)
        .then((answer) => {
          assert.ok(answer.ok);
          answers += 1;
          return read();
        });
    void read();
    await clock.advance(100);
    const beginMs = clock.monotonicMs();
    scans.start(order({ first_unit: 10, last_unit: 19 }));
    while (!summary().includes('end complete')) await played(clock, clock.sleep(20));
    const tookMs = clock.monotonicMs() - beginMs;
    assert.ok(tookMs >= 10 * 2 * 100, `10 silent units took ${tookMs} ms`);
    assert.ok(answers > 20, `the script got ${answers} answers`);
  });

  test('a scan of a serial line ends when a script keeps the line to itself', async () => {
    const { run, bus, clock, said } = setUp();
    const kept = Promise.withResolvers<void>();
    const held = bus.serialPort('rs485')?.inTurn(1, () => kept.promise);
    assert.deepEqual(await run(), ['end in_use a script keeps the line to itself']);
    kept.resolve();
    await held;
    await clock.advance(1_000);
    assert.deepEqual(said, [], 'nothing is asked afterwards');
  });

  test('a scan of a serial line is the only one of its line, under any name, and reports nothing after a stop', async () => {
    const { scans, order, summary, run } = setUp();
    scans.start(order());
    scans.start(order());
    scans.start(order({ id: 's2', uri: 'port://second' }));
    assert.deepEqual(summary(), ['end busy']);
    scans.stop('s1');
    scans.stop('none');
    assert.deepEqual(await run({ id: 's3', first_unit: 9, last_unit: 9 }), ['9 silent', 'end complete']);
  });

  test('a scan of a serial line ends at its time limit', async () => {
    const { scans, order, device, clock, summary } = setUp();
    device.onWrite = undefined;
    scans.start(order({ first_unit: 0, last_unit: 255, timeout_ms: 5_000 }));
    for (let tookMs = 0; tookMs <= FIELD.scanMs + 10_000; tookMs += 1_000) await clock.advance(1_000);
    assert.equal(summary().at(-1), 'end time_limit');
  });
});

describe('a scan of an address', () => {
  test('a scan of an address reports why it cannot be reached, and at once the second time', async () => {
    const { run } = setUp();
    for (let tries = 0; tries < 2; tries += 1)
      assert.deepEqual(await run({ uri: 'tcp://nobody' }), ['end unreachable connection refused']);
  });

  test('a scan of an address gives up on a device that always hangs up', async () => {
    const { run } = setUp();
    assert.deepEqual(await run({ uri: 'tcp://hangs-up', last_unit: 200 }), [
      '1 closed closed by the device',
      '2 closed closed by the device',
      '3 closed closed by the device',
      'end unreachable closed by the device',
    ]);
  });
});
