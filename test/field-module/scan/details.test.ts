/** What a scan reads of a unit beyond its names; the test plays the answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failed, type ModbusAnswer } from '../../../src/field-module/field/modbus-fault.ts';
import type { ModbusRequest } from '../../../src/field-module/field/modbus-pdu.ts';
import { readDetails } from '../../../src/field-module/scan/details.ts';
import { LIMITS } from '../../../src/lib/limits.ts';

const FIELD = LIMITS.field;
const TIMEOUT = failed({ kind: 'timeout' });
const ILLEGAL_ADDRESS = failed({ kind: 'exception', exceptionCode: 2 });

function unit(known: Record<string, number[]>, otherwise: ModbusAnswer) {
  const asked: string[] = [];
  const ask = (request: ModbusRequest): Promise<ModbusAnswer> => {
    const name = `${request.kind} ${request.start}`;
    asked.push(name);
    const values = known[name];
    return Promise.resolve(values ? { ok: true, values } : otherwise);
  };
  return { asked, ask };
}

const read = (start: number) => ({ kind: 'holding' as const, start, count: 1 });

test('a scan without requested details reads none', async () => {
  const { ask, asked } = unit({}, TIMEOUT);
  assert.deepEqual([await readDetails(ask, {}, FIELD), asked], [{}, []]);
});

test('registers that a unit refuses are null, and the others have their values', async () => {
  const { ask } = unit({ 'read_inputs 4': [0x0108], 'read_holdings 7': [1] }, ILLEGAL_ADDRESS);
  const reads = [{ kind: 'input' as const, start: 4, count: 1 }, ...[5, 6, 7].map(read)];
  assert.deepEqual(await readDetails(ask, { reads }, FIELD), { reads: [[0x0108], null, null, [1]] });
});

test('a unit that is silent about several registers in a row is not asked for the rest', async () => {
  const { ask, asked } = unit({ 'read_holdings 9': [1] }, TIMEOUT);
  const reads = Array.from({ length: 10 }, (_, start) => read(start));
  const { reads: found } = await readDetails(ask, { reads }, FIELD);
  assert.equal(asked.length, FIELD.scanSilentReads);
  assert.deepEqual(
    found,
    reads.map(() => null),
  );
});

test('the chain of SunSpec models is followed to its end, wherever it begins', async () => {
  const { ask } = unit(
    {
      'read_holdings 50000': [0x5375, 0x6e53],
      'read_holdings 50002': [1, 66],
      'read_holdings 50070': [103, 50],
      'read_holdings 50122': [160, 48],
      'read_holdings 50172': [0xffff, 0],
    },
    ILLEGAL_ADDRESS,
  );
  assert.deepEqual(await readDetails(ask, { models: true }, FIELD), { models: [1, 103, 160] });
});

test('a chain of SunSpec models without an end is followed as far as there may be models', async () => {
  const ask = ({ start }: ModbusRequest): Promise<ModbusAnswer> =>
    Promise.resolve({ ok: true, values: start === 40_000 ? [0x5375, 0x6e53] : [7, 1] });
  const { models } = await readDetails(ask, { models: true }, FIELD);
  assert.equal(models?.length, FIELD.scanModels);
});
