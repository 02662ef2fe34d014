/** Somebody looks for devices: the whole gateway with its own module, simulated devices on a network and a line. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NO_SERIAL_LINE, playModbus } from '../support/simulated-modbus.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

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

  test('a connection is tested while there is no device yet, and says what is there', async () => {
    assert.deepEqual(await testOf({ uri }), {
      usable: true,
      outcome: 'ANSWERS',
      message: 'Unit 1 answers: Simulated Hybrid inverter, serial number SIM-INV-0001.',
      ...INVERTER,
    });
  });

  test('what does not work is said in a sentence', async () => {
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
