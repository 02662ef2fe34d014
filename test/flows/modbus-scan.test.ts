/** Somebody looks for devices: the whole gateway with its own module, simulated devices on a network and a line. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startImageDevice } from '../../scripts/simulate/image-device.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { NO_SERIAL_LINE, playModbus } from '../support/simulated-modbus.ts';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const INVERTER = {
  sunspec: {
    manufacturer: 'Simulated',
    model: 'Hybrid inverter',
    version: '1.4',
    serial_number: 'SIM-INV-0001',
  },
  identification: { vendor: 'Simulated', product_code: 'Hybrid inverter', revision: '1.4' },
};

describe('looking for Modbus devices', () => {
  const ends: (() => unknown)[] = [];
  const owner = { after: (end: () => unknown) => void ends.push(end) };
  let uri: string;
  let gateway: TestGateway;

  before(async () => {
    const played = await playModbus(owner);
    ({ uri } = played);
    gateway = await startTestGateway(owner, { environment: played.environment });
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const testOf = async (body: object): Promise<Record<string, unknown>> => {
    const { test: outcome } = await gateway.ok('INSTALLER', 'POST', '/v3/modbus/test', body);
    return outcome as Record<string, unknown>;
  };

  test('a connection is tested before there is a device, and reports what was found', async () => {
    assert.deepEqual(await testOf({ uri }), {
      usable: true,
      outcome: 'ANSWERS',
      message: 'Unit 1 answers: Simulated Hybrid inverter, serial number SIM-INV-0001.',
      ...INVERTER,
    });
  });

  const readOf = async (body: object): Promise<Record<string, unknown>> => {
    const { read } = await gateway.ok('INSTALLER', 'POST', '/v3/modbus/read', body);
    return read as Record<string, unknown>;
  };

  test('registers are read before there is a device, and only by an INSTALLER', async (t) => {
    const reads = [
      { function: 'HOLDING', address: 40_000, count: 2 },
      { function: 'INPUT', address: 60_000 },
      { function: 'INPUT', address: 0, count: 1 },
    ];
    const denied = await gateway.call('OWNER', 'POST', '/v3/modbus/read', { uri, reads });
    assert.equal(refusal(denied), '403 insufficient_role');
    for (const wrong of [
      { uri },
      { uri, reads: [] },
      { uri, reads: [{ function: 'FILE', address: 0 }] },
      { uri, reads: [{ function: 'INPUT', address: 65_536 }] },
      { uri, reads: [{ function: 'INPUT', address: 0, count: LIMITS.field.scanReadRegisters + 1 }] },
      { uri, reads: Array.from({ length: LIMITS.field.scanReads + 1 }, () => reads[1]) },
    ])
      assert.equal(
        refusal(await gateway.call('INSTALLER', 'POST', '/v3/modbus/read', wrong)),
        '400 invalid_body',
      );
    const board = await startImageDevice(
      { name: 'relays', registers: { coil: { 3: 1, 4: 0 }, discrete: { 7: 1 } } },
      false,
    );
    t.after(() => board.close());
    const bits = await readOf({
      uri: board.address,
      reads: [
        { function: 'COIL', address: 3, count: 2 },
        { function: 'DISCRETE', address: 7 },
      ],
    });
    assert.deepEqual(bits['reads'], [
      { function: 'COIL', address: 3, words: [1, 0] },
      { function: 'DISCRETE', address: 7, words: [1] },
    ]);
    const { usable, outcome, reads: found } = await readOf({ uri, reads });
    const words = (found as { words: number[] | null }[]).map((read) => read.words);
    assert.deepEqual([usable, outcome, words[0], words[1]], [true, 'ANSWERS', [0x5375, 0x6e53], null]);
    assert.equal(words[2]?.length, 1);
    // Registers alone are asked for: what else the unit would say does not matter.
    const refused = await readOf({ uri, reads: [reads[1]] });
    assert.deepEqual([refused['usable'], refused['outcome']], [true, 'EXCEPTION']);
    const silent = await readOf({ uri, unit_id: 9, timeout_ms: 50, reads });
    assert.deepEqual([silent['usable'], silent['outcome']], [false, 'SILENT']);
    assert.deepEqual(
      (silent['reads'] as { words: unknown }[]).map((read) => read.words),
      [null, null, null],
    );
    const unreachable = await readOf({ uri: 'tcp://127.0.0.1:1', reads });
    assert.equal(unreachable['outcome'], 'UNREACHABLE');
  });

  test('failures of a scan are explained in a sentence', async () => {
    const closed = await testOf({ uri: 'tcp://127.0.0.1:1' });
    assert.equal(closed['outcome'], 'UNREACHABLE');
    assert.match(String(closed['message']), /cannot be reached: connection refused\.$/);
    const silent = await testOf({ uri, unit_id: 9, timeout_ms: 50 });
    assert.equal(silent['message'], 'Unit 9 does not answer within 50 ms.');
    const strange = await testOf({ uri: gateway.origin.replace('http', 'tcp') });
    assert.equal(strange['outcome'], 'GARBLED');
  });

  test(
    'a serial line is scanned while a unit answers and others do not',
    { skip: NO_SERIAL_LINE },
    async () => {
      const answer = await gateway.request('INSTALLER', 'POST', '/v3/modbus/scan', {
        uri: 'port://rs485',
        last_unit: 3,
        timeout_ms: 1_000,
      });
      const lines = (await answer.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(
        lines.map(({ type, unit_id: unit, outcome }) => [type, unit, outcome]),
        [
          ['unit', 1, 'ANSWERS'],
          ['unit', 2, 'ANSWERS'],
          ['unit', 3, 'SILENT'],
          ['end', undefined, 'COMPLETE'],
        ],
      );
      assert.deepEqual(lines[0]?.['sunspec'], INVERTER.sunspec);
      assert.deepEqual(lines[0]?.['identification'], INVERTER.identification);
    },
  );
});
