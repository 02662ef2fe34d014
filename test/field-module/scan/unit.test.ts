/** What one unit says it is; the test plays its answers. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { failed, type ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import type { ModbusRequest } from '../../../src/field-module/field/modbus-pdu.ts';
import { readIdentification, textOf } from '../../../src/field-module/field/device-identification.ts';
import { examineUnit } from '../../../src/field-module/scan/unit.ts';

const exception = (exceptionCode: number): ModbusAnswer => failed({ kind: 'exception', exceptionCode });
const TIMEOUT = failed({ kind: 'timeout' });

function words(text: string, count: number): number[] {
  const bytes = Buffer.alloc(count * 2);
  bytes.write(text);
  return Array.from({ length: count }, (_, index) => bytes.readUInt16BE(index * 2));
}

const COMMON = [
  1,
  66,
  ...words('Acme', 16),
  ...words('Hybrid 5', 16),
  ...words('', 8),
  ...words('1.4', 8),
  ...words('4711', 16),
];

const objects = (more: number, next: number, ...texts: [id: number, text: string][]): ModbusAnswer => ({
  ok: true,
  values: [
    1,
    1,
    more,
    next,
    texts.length,
    ...texts.flatMap(([id, text]) => [id, text.length, ...Buffer.from(text)]),
  ],
});

/** A unit that has a value for each request it knows. */
function unit(known: Record<string, ModbusAnswer>, otherwise: ModbusAnswer) {
  const asked: string[] = [];
  return {
    asked,
    ask: (request: ModbusRequest): Promise<ModbusAnswer> => {
      const name = `${request.kind} ${request.start}${'category' in request ? ` of ${request.category}` : ''}`;
      asked.push(name);
      return Promise.resolve(known[name] ?? otherwise);
    },
  };
}

describe('a unit', () => {
  test('a unit is polled once in a scan when it is silent, and three times when it is tested', async () => {
    const scanned = unit({}, TIMEOUT);
    assert.deepEqual(await examineUnit(scanned.ask, false), { outcome: 'silent' });
    assert.equal(scanned.asked.length, 1);
    const tested = unit({}, TIMEOUT);
    assert.deepEqual(await examineUnit(tested.ask, true), { outcome: 'silent' });
    assert.equal(tested.asked.length, 3);
  });

  test('a unit is found by a test when it is silent about places that it does not have', async () => {
    const { ask } = unit({ 'read_inputs 0': { ok: true, values: [1] } }, TIMEOUT);
    assert.deepEqual(await examineUnit(ask, true), { outcome: 'answers' });
  });

  test('a unit behind a converter that does not reach it is silent, in the words of the converter', async () => {
    const { ask } = unit({}, exception(11));
    assert.deepEqual(await examineUnit(ask, true), {
      outcome: 'silent',
      reason: 'gateway target device failed to respond',
    });
  });

  test('a unit is garbled when nonsense comes from it, and closed when it hangs up', async () => {
    const nonsense = unit({}, failed({ kind: 'invalid_response', reason: 'wrong checksum' }));
    assert.deepEqual(await examineUnit(nonsense.ask, false), {
      outcome: 'garbled',
      reason: 'wrong checksum',
    });
    const gone = unit({}, failed({ kind: 'connection_failed', reason: 'closed by the device' }));
    assert.deepEqual(await examineUnit(gone.ask, false), {
      outcome: 'closed',
      reason: 'closed by the device',
    });
  });

  test('a unit exists when it refuses everything, with its exception', async () => {
    const { ask } = unit({}, exception(2));
    assert.deepEqual(await examineUnit(ask, true), {
      outcome: 'exception',
      exception_code: 2,
      reason: 'illegal data address',
    });
  });

  for (const base of [40_000, 50_000, 0])
    test(`a unit identifies itself by SunSpec at ${base}`, async () => {
      const { ask } = unit(
        {
          [`read_holdings ${base}`]: { ok: true, values: [0x5375, 0x6e53] },
          [`read_holdings ${base + 2}`]: { ok: true, values: COMMON },
        },
        exception(2),
      );
      assert.deepEqual(await examineUnit(ask, false), {
        outcome: 'answers',
        sunspec: { manufacturer: 'Acme', model: 'Hybrid 5', version: '1.4', serial_number: '4711' },
      });
    });

  test('a unit is unidentified when no common model follows the SunSpec marker', async () => {
    const { ask } = unit(
      {
        'read_holdings 40000': { ok: true, values: [0x5375, 0x6e53] },
        'read_holdings 40002': { ok: true, values: [101, ...COMMON.slice(1)] },
      },
      exception(2),
    );
    assert.deepEqual(await examineUnit(ask, false), { outcome: 'answers' });
  });

  test('a unit gives its identification in parts, and in the basic form when it refuses the regular one', async () => {
    const parts = unit(
      {
        'read_identification 0 of 2': objects(0xff, 2, [0, 'Acme'], [1, 'H5']),
        'read_identification 2 of 2': objects(0, 0, [2, 'V1'], [5, 'Hybrid']),
      },
      exception(1),
    );
    assert.deepEqual(await examineUnit(parts.ask, false), {
      outcome: 'answers',
      identification: { vendor: 'Acme', product_code: 'H5', revision: 'V1', model_name: 'Hybrid' },
    });
    const basic = unit({ 'read_identification 0 of 1': objects(0, 0, [0, 'Acme']) }, exception(3));
    assert.deepEqual(await examineUnit(basic.ask, false), {
      outcome: 'answers',
      identification: { vendor: 'Acme' },
    });
  });

  test('a unit that announces more for ever is polled four times', async () => {
    const { ask, asked } = unit(
      { 'read_identification 0 of 2': objects(0xff, 0, [0, 'Acme']) },
      exception(1),
    );
    await examineUnit(ask, false);
    assert.equal(asked.filter((name) => name.startsWith('read_identification')).length, 4);
  });
});

test('an identification is cut to printable letters, whatever a device sends', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(255)), (bytes) => {
      assert.doesNotMatch(textOf(bytes), /\p{Cc}/u);
      for (const text of Object.values(readIdentification(bytes).found)) assert.notEqual(text, '');
    }),
  );
});
