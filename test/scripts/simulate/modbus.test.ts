import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { parseSimulateModbusOptions } from '../../../scripts/simulate/modbus-options.ts';
import { type SimulatedModbus, simulateModbus } from '../../../scripts/simulate/modbus-run.ts';
import { createModbusUnits } from '../../../scripts/simulate/modbus-device.ts';
import { RESET_CODE } from '../../../scripts/simulate/modbus-registers.ts';
import { serveModbusSerial } from '../../../scripts/simulate/modbus-server.ts';
import { createPlant, DEFAULT_SETTINGS, NO_ENERGY, type Plant } from '../../../scripts/simulate/plant.ts';
import { createRandom } from '../../../scripts/support/random.ts';
import { crc16, encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { FieldBus, scriptFaultOf, type ModbusClient } from '../../../src/field-module/field/index.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

function plantAtNoon(): Plant {
  return createPlant({
    random: createRandom(1),
    hourOfDay: 12,
    socPercent: 60,
    mishapsPerDay: 0,
    energy: { ...NO_ENERGY, pvWh: 70_000 },
    settings: DEFAULT_SETTINGS,
  });
}

function units() {
  const plant = plantAtNoon();
  const reading = plant.advance(1);
  return { plant, reading, units: createModbusUnits(plant, () => reading) };
}

const REFUSED: [what: string, unitId: number, request: string, answer: string | undefined][] = [
  ['a unit that does not exist', 9, '03 0000 0001', undefined],
  ['a function that does not exist', 1, '08 0000 0000', '88 01'],
  ['an identification of another type', 1, '2b 0d 01 00', 'ab 01'],
  ['an identification that is cut', 1, '2b 0e 01', 'ab 03'],
  ['an address that does not exist', 1, '03 4000 0001', '83 02'],
  ['a range that leaves the map', 1, '04 0014 0008', '84 02'],
  ['too many registers', 1, '03 0000 007e', '83 03'],
  ['a request that is cut', 1, '03 0000', '83 03'],
  ['a write of what can only be read', 2, '06 0000 0001', '86 02'],
  ['a value that the inverter does not take', 1, '06 0002 0065', '86 03'],
  ['a coil that is neither on nor off', 1, '05 0000 0001', '85 03'],
  ['a mask that is cut', 1, '16 0001 0000', '96 03'],
  ['a mask for what can only be read', 2, '16 0000 0000 0001', '96 02'],
  ['a read whose write is not taken', 1, '17 0000 0002 0002 0001 02 0065', '97 03'],
  ['a write whose length is wrong', 1, '10 0000 0002 04 0001', '90 03'],
];

describe('the simulated Modbus devices', () => {
  for (const [what, unitId, request, answer] of REFUSED)
    test(`the simulated Modbus devices refuse ${what}`, () =>
      assert.equal(units().units.answer(unitId, hex(request))?.toString('hex'), answer?.replaceAll(' ', '')));

  test('the simulated Modbus devices show what the plant measures', () => {
    const { units: both, reading } = units();
    const inputs = both.answer(1, hex('04 0002 0002'))?.subarray(2) ?? assert.fail();
    assert.equal(inputs.readInt32BE(0), Math.round(reading.flows.pvW));
    const energy = both.answer(1, hex('04 0010 0002'))?.subarray(2) ?? assert.fail();
    assert.equal(energy.readUInt32BE(0), Math.round(reading.state.energy.pvWh));
    const meter = both.answer(2, hex('04 0004 0002'))?.subarray(2) ?? assert.fail();
    assert.equal(meter.readInt32BE(0), Math.round(reading.flows.gridW));
  });

  test('the simulated Modbus devices take settings by registers and coils, and show them in both', () => {
    const { units: both, plant } = units();
    assert.equal(both.answer(1, hex('06 0001 0002'))?.toString('hex'), '0600010002');
    assert.equal(plant.settings.mode, 'peak_shaving');
    both.answer(1, hex('05 0000 0000'));
    assert.equal(plant.settings.running, false);
    assert.equal(both.answer(1, hex('03 0000 0001'))?.toString('hex'), '03020000');
    both.answer(1, hex('10 0002 0002 04 0032 03e8'));
    assert.deepEqual([plant.settings.reservePercent, plant.settings.chargeLimitW], [50, 1_000]);
    // 50 is 0x32: the mask takes its lowest bits and sets 5.
    assert.equal(both.answer(1, hex('16 0002 00f0 0005'))?.toString('hex'), '16000200f00005');
    assert.equal(plant.settings.reservePercent, 0x35);
    const written = both.answer(1, hex('17 0002 0002 0003 0001 02 07d0'))?.toString('hex');
    assert.deepEqual([written, plant.settings.chargeLimitW], ['1704003507d0', 2_000]);
    both.answer(1, hex(`06 0004 ${RESET_CODE.toString(16)}`));
    assert.equal(plant.advance(0.001).state.energy.pvWh < 1, true);
  });
});

describe('the command line of the Modbus simulator', () => {
  for (const [args, problem] of [
    [['--port', '70000'], /--port/],
    [['--devices', '0'], /--devices/],
    [['--port', '65500', '--devices', '100'], /last port/],
    [['--hour', '25'], /--hour/],
    [['--what'], /--what/],
    [['--image', 'x.yml', '--serial', 'line'], /--image plays one device/],
    [['--image', 'x.yml', '--devices', '2'], /--image plays one device/],
    [['--image', 'x.yml', '--fault', 'slow'], /--image plays one device/],
  ] as const)
    test(`the command line of the Modbus simulator refuses ${args.join(' ')}`, () =>
      assert.throws(() => parseSimulateModbusOptions(args), problem));

  test('the command line of the Modbus simulator has defaults', () => {
    assert.deepEqual(
      [parseSimulateModbusOptions([])?.port, parseSimulateModbusOptions([])?.host],
      [1_502, '127.0.0.1'],
    );
    assert.equal(parseSimulateModbusOptions(['--help']), undefined);
  });
});

async function withSimulator(
  run: (simulated: SimulatedModbus, client: ModbusClient) => Promise<void>,
  args: readonly string[] = [],
): Promise<void> {
  const clock = createSystemClock();
  const options = parseSimulateModbusOptions(['--port', '0', ...args]) ?? assert.fail();
  const parts = { options, clock, random: createRandom(3), terminal: { line: () => undefined } };
  const simulated = await simulateModbus(parts);
  const bus = new FieldBus({ clock, ports: {} });
  const client = bus.modbus(`tcp://127.0.0.1:${simulated.servers[0]?.port}`);
  assert.ok(typeof client !== 'string');
  try {
    await run(simulated, client);
  } finally {
    await bus.close();
    await simulated.stop();
    clock.close();
  }
}

async function state(client: ModbusClient, unitId = 1): Promise<string> {
  const answer = await client.request(unitId, { kind: 'read_inputs', start: 0, count: 1 }, 150);
  return answer.ok ? 'ok' : scriptFaultOf(answer.fault).text;
}

describe('the Modbus simulator over a real socket', () => {
  test('the Modbus simulator over a real socket refuses unknown faults', () =>
    withSimulator((simulated) => {
      for (const line of ['burn 1', 'slow 1', 'slow 1 no', 'exception 1 0', 'silent 256'])
        assert.throws(() => simulated.command(line), { name: 'UsageError' }, line);
      return Promise.resolve();
    }));

  test('the Modbus simulator over a real socket does not start with a fault that makes no sense', () =>
    assert.rejects(
      withSimulator(() => Promise.resolve(), ['--fault', 'burn 1']),
      /burn is no fault/,
    ));

  test('the Modbus simulator over a real socket shows every fault as a client sees it, and recovers', () =>
    withSimulator(async (simulated, client) => {
      assert.equal(await state(client), 'ok');
      for (const [line, seen] of [
        ['silent 1', 'timeout'],
        ['slow 1 400', 'timeout'],
        ['exception 1 6', 'server device busy'],
        ['nonsense 1', 'invalid response: function code 81 answers 4'],
      ] as const) {
        simulated.command(line);
        assert.equal(await state(client), seen, line);
        // The meter beside it works; on a busy machine an answer may come after its time limit.
        await until(async () => (await state(client, 2)) === 'ok');
        simulated.command('ok');
        await until(async () => (await state(client)) === 'ok');
      }
    }));

  test('the Modbus simulator over a real socket hangs up, hangs, or swallows everything', () =>
    withSimulator(async (simulated, client) => {
      assert.equal(await state(client), 'ok');
      simulated.command('drop');
      while ((await state(client)) !== 'ok') assert.ok(simulated.servers[0]);
      // The client makes a new connection after a silence.
      simulated.command('half-open');
      assert.deepEqual([await state(client), await state(client)], ['timeout', 'ok']);
      simulated.command('black-hole');
      assert.equal(await state(client), 'timeout');
      simulated.command('ok');
      assert.equal(await state(client), 'ok');
    }));
});

describe('the Modbus simulator on a serial line', () => {
  test('the Modbus simulator on a serial line answers what is addressed to it and is whole, and nothing else', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const clock = new TestClock();
    const { units: both } = units();
    serveModbusSerial({ units: both, faults: { of: () => undefined }, clock, input, output, crc16 });
    const said = async (bytes: Buffer): Promise<string> => {
      for (const byte of bytes) input.write(Buffer.of(byte));
      await settle();
      await clock.advance(50);
      return (output.read() as Buffer | null)?.toString('hex') ?? '';
    };
    assert.equal(await said(hex('01 03 0000 0001 0000')), '');
    assert.equal(await said(encodeRtuFrame(9, hex('03 0000 0001'))), '');
    assert.equal(
      await said(encodeRtuFrame(1, hex('03 0000 0001'))),
      encodeRtuFrame(1, hex('03 02 0001')).toString('hex'),
    );
    assert.equal(
      await said(encodeRtuFrame(1, hex('10 0002 0001 02 0021'))),
      encodeRtuFrame(1, hex('10 0002 0001')).toString('hex'),
    );
    for (const request of ['16 0002 00ff 0000', '17 0002 0001 0003 0001 02 07d0'])
      assert.notEqual(await said(encodeRtuFrame(1, hex(request))), '');
  });
});
