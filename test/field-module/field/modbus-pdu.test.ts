import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { scriptFaultOf } from '../../../src/field-module/field/modbus-fault.ts';
import {
  decodeAnswer,
  encodeRequest,
  type ModbusRequest,
  requestProblem,
} from '../../../src/field-module/field/modbus-pdu.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const REFUSED: [what: string, unitId: number, request: ModbusRequest, problem: RegExp][] = [
  ['a unit of 256', 256, { kind: 'read_holdings', start: 0, count: 1 }, /unit id/],
  ['half a unit', 1.5, { kind: 'read_holdings', start: 0, count: 1 }, /unit id/],
  ['a negative address', 1, { kind: 'read_inputs', start: -1, count: 1 }, /address/],
  ['126 registers', 1, { kind: 'read_inputs', start: 0, count: 126 }, /from 1 to 125/],
  ['2001 bits', 1, { kind: 'read_coils', start: 0, count: 2_001 }, /from 1 to 2000/],
  ['no register', 1, { kind: 'read_holdings', start: 0, count: 0 }, /from 1 to 125/],
  ['a range beyond the last address', 1, { kind: 'read_holdings', start: 65_535, count: 2 }, /65535/],
  ['124 registers to write', 1, write('write_multiple_holdings', 124), /from 1 to 123/],
  ['1969 coils to write', 1, write('write_multiple_coils', 1_969), /from 1 to 1968/],
  ['two values for one register', 1, write('write_holding', 2), /exactly one/],
  ['a value of 17 bits', 1, { kind: 'write_holding', start: 0, values: [65_536] }, /65535/],
  ['a value below 16 bits', 1, { kind: 'write_holding', start: 0, values: [-32_769] }, /-32768/],
  ['a fraction', 1, { kind: 'write_holding', start: 0, values: [0.5] }, /integer/],
  [
    'a mask of 17 bits',
    1,
    { kind: 'mask_write_holding', start: 0, andMask: 0, orMask: 65_536 },
    /from -32768 to 65535/,
  ],
  ['122 registers to write before a read', 1, readWrite({ values: 122 }), /from 1 to 121/],
  ['126 registers to read after a write', 1, readWrite({ count: 126 }), /from 1 to 125/],
  ['a write beyond the last address', 1, readWrite({ writeStart: 65_535, values: 2 }), /65535/],
  ['a half object', 1, { kind: 'read_identification', category: 1, start: 0.5 }, /object/],
  ['a coil of 2', 1, { kind: 'write_coil', start: 0, values: [2] }, /from 0 to 1/],
];

function write(kind: 'write_holding' | 'write_multiple_holdings' | 'write_multiple_coils', count: number) {
  return { kind, start: 0, values: Array.from({ length: count }, () => 1) } as const;
}

function readWrite({ count = 1, writeStart = 0, values = 1 }): ModbusRequest {
  const list = Array.from({ length: values }, () => 1);
  return { kind: 'read_write_holdings', start: 0, count, writeStart, values: list };
}

/** Examples of the application protocol specification, chapter 6. */
const EXCHANGES: [ModbusRequest, sent: string, answer: string, values: number[]][] = [
  [
    { kind: 'read_coils', start: 0x13, count: 0x13 },
    '01 0013 0013',
    '01 03 cd 6b 05',
    [1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1],
  ],
  [{ kind: 'read_discrete_inputs', start: 0xc4, count: 4 }, '02 00c4 0004', '02 01 0d', [1, 0, 1, 1]],
  [{ kind: 'read_holdings', start: 0x6b, count: 3 }, '03 006b 0003', '03 06 022b 0000 0064', [555, 0, 100]],
  [{ kind: 'read_inputs', start: 8, count: 1 }, '04 0008 0001', '04 02 000a', [10]],
  [{ kind: 'write_coil', start: 0xac, values: [1] }, '05 00ac ff00', '05 00ac ff00', []],
  [{ kind: 'write_holding', start: 1, values: [-2] }, '06 0001 fffe', '06 0001 fffe', []],
  [
    { kind: 'write_multiple_coils', start: 0x13, values: [1, 0, 1, 1, 0, 0, 1, 1, 1, 0] },
    '0f 0013 000a 02 cd01',
    '0f 0013 000a',
    [],
  ],
  [
    { kind: 'write_multiple_holdings', start: 1, values: [10, 258] },
    '10 0001 0002 04 000a 0102',
    '10 0001 0002',
    [],
  ],
  [
    { kind: 'mask_write_holding', start: 4, andMask: 0xf2, orMask: 0x25 },
    '16 0004 00f2 0025',
    '16 0004 00f2 0025',
    [],
  ],
  [
    { kind: 'read_write_holdings', start: 3, count: 6, writeStart: 14, values: [255, 255, 255] },
    '17 0003 0006 000e 0003 06 00ff 00ff 00ff',
    '17 0c 00fe 0acd 0001 0003 000d 00ff',
    [254, 2_765, 1, 3, 13, 255],
  ],
  [
    { kind: 'read_identification', category: 1, start: 0 },
    '2b 0e 01 00',
    '2b 0e 01 01 00 00 01 00 02 4142',
    [1, 1, 0, 0, 1, 0, 2, 0x41, 0x42],
  ],
];

const READ: ModbusRequest = { kind: 'read_holdings', start: 0, count: 2 };
const INVALID: [what: string, request: ModbusRequest, answer: string][] = [
  ['nothing', READ, ''],
  ['another function', READ, '04 04 0001 0002'],
  ['the exception of another function', READ, '84 02'],
  ['fewer registers', READ, '03 02 0001'],
  ['more registers', READ, '03 06 0001 0002 0003'],
  ['a byte too many', READ, '03 04 0001 0002 00'],
  ['a count that is not what follows', READ, '03 04 0001'],
  ['an exception without a code', READ, '83'],
  ['an exception of code 0', READ, '83 00'],
  ['a longer exception', READ, '83 02 00'],
  ['bits for another count', { kind: 'read_coils', start: 0, count: 9 }, '01 01 ff'],
  ['a confirmed write elsewhere', { kind: 'write_holding', start: 1, values: [2] }, '06 0002 0002'],
  ['another value confirmed', { kind: 'write_holding', start: 1, values: [2] }, '06 0001 0003'],
  ['no identification', { kind: 'read_identification', category: 1, start: 0 }, '2b 0d 01'],
  ['a cut confirmation', { kind: 'write_holding', start: 1, values: [2] }, '06 0001 00'],
];

describe('a Modbus request', () => {
  for (const [what, unitId, request, problem] of REFUSED)
    test(`a Modbus request is refused for ${what}`, () =>
      assert.match(requestProblem(unitId, request) ?? '', problem));

  for (const [request, sent] of EXCHANGES)
    test(`a Modbus request is encoded as the specification shows: ${request.kind}`, () => {
      assert.equal(requestProblem(1, request), undefined);
      assert.deepEqual(encodeRequest(request), hex(sent));
    });
});

/** Bytes of an identification behind the type of the message. */
function countOf(request: ModbusRequest, pdu: Buffer): number {
  if (request.kind === 'read_identification') return pdu.length - 2;
  return 'count' in request ? request.count : 0;
}

describe('a Modbus answer', () => {
  for (const [what, request, answer] of INVALID)
    test(`a Modbus answer is invalid: ${what}`, () => {
      const decoded = decodeAnswer(request, hex(answer));
      assert.equal(!decoded.ok && decoded.fault.kind, 'invalid_response');
    });

  for (const [request, , answer, values] of EXCHANGES)
    test(`a Modbus answer is decoded as the specification shows: ${request.kind}`, () =>
      assert.deepEqual(decodeAnswer(request, hex(answer)), { ok: true, values }));

  test('a Modbus answer that is a refusal gives the exception, its text and its number', () => {
    const decoded = decodeAnswer(READ, hex('83 02'));
    assert.ok(!decoded.ok);
    assert.deepEqual(decoded.fault, { kind: 'exception', exceptionCode: 2 });
    assert.deepEqual(scriptFaultOf(decoded.fault), { text: 'illegal data address', number: 102 });
  });

  test('a Modbus answer of any bytes is judged without a crash, and never gives another number of values', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...EXCHANGES.map(([request]) => request)),
        fc.uint8Array({ maxLength: 300 }),
        fc.boolean(),
        (request, bytes, keepsCode) => {
          const pdu = Buffer.from(bytes);
          const asked = encodeRequest(request);
          // The type of the message belongs to the code of an identification.
          if (keepsCode) asked.copy(pdu, 0, 0, request.kind === 'read_identification' ? 2 : 1);
          const decoded = decodeAnswer(request, pdu);
          if (decoded.ok) assert.equal(decoded.values.length, countOf(request, pdu));
        },
      ),
    );
  });
});
