import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  crc16,
  decodeRtuFrame,
  encodeRtuFrame,
  rtuAnswerLength,
} from '../../../src/field-module/field/modbus-rtu-frame.ts';
import {
  createTcpFrameReader,
  encodeTcpFrame,
} from '../../../src/field-module/field/modbus-tcp-connection.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('the reader of Modbus TCP frames', () => {
  for (const [what, bytes] of [
    ['another protocol', '0001 0001 0003 01 03 00'],
    ['a length of 0, and nothing after it', '0001 0000 0000'],
    ['a length of 1', '0001 0000 0001 01'],
    ['a length of 255', '0001 0000 00ff 01 03'],
    ['text', Buffer.from('HTTP/1.1 400').toString('hex')],
  ] as const)
    test(`the reader of Modbus TCP frames gives up on ${what}`, () =>
      assert.equal(createTcpFrameReader().read(hex(bytes)), undefined));

  test('the reader of Modbus TCP frames finds every frame, however the bytes are cut', () => {
    const frames = fc.array(
      fc.record(
        {
          transactionId: fc.nat(65_535),
          unitId: fc.nat(255),
          pdu: fc.uint8Array({ minLength: 1, maxLength: 253 }).map((bytes) => Buffer.from(bytes)),
        },
        { noNullPrototype: true },
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(frames, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (sent, cuts) => {
        const reader = createTcpFrameReader();
        const bytes = Buffer.concat(sent.map(encodeTcpFrame));
        const found: unknown[] = [];
        for (let at = 0; at < bytes.length;) {
          const end = at + (cuts.next().value as number);
          found.push(...(reader.read(bytes.subarray(at, end)) ?? [assert.fail('gave up')]));
          at = end;
        }
        assert.deepEqual(found, sent);
      }),
    );
  });

  test('the reader of Modbus TCP frames takes any bytes without a crash', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 600 })), (chunks) => {
        const reader = createTcpFrameReader();
        for (const chunk of chunks) if (reader.read(Buffer.from(chunk)) === undefined) return;
      }),
    );
  });
});

describe('a Modbus RTU frame', () => {
  test('a Modbus RTU frame is rejected with a wrong checksum or none', () => {
    assert.equal(decodeRtuFrame(hex('01 03 02 0001 0000')), undefined);
    assert.equal(decodeRtuFrame(hex('01 03')), undefined);
    assert.equal(decodeRtuFrame(hex('')), undefined);
  });

  test('a Modbus RTU frame carries the checksum of the specification, low byte first', () => {
    // MODBUS over Serial Line, appendix B: 02 07 gives 1241 as sent.
    assert.equal(crc16(hex('02 07')), 0x1241);
    assert.deepEqual(encodeRtuFrame(2, hex('07')), hex('02 07 41 12'));
  });

  test('a Modbus RTU frame is read back, and is refused after any one bit was changed', () => {
    fc.assert(
      fc.property(
        fc.nat(247),
        fc.uint8Array({ minLength: 1, maxLength: 253 }),
        fc.nat(),
        (unitId, pdu, bit) => {
          const frame = encodeRtuFrame(unitId, pdu);
          assert.deepEqual(decodeRtuFrame(frame), { unitId, pdu: Buffer.from(pdu) });
          const at = bit % (frame.length * 8);
          frame[at >> 3] = (frame[at >> 3] ?? 0) ^ (1 << (at & 7));
          assert.equal(decodeRtuFrame(frame), undefined);
        },
      ),
    );
  });

  test('a Modbus RTU frame has its length known from its beginning', () => {
    assert.equal(rtuAnswerLength(hex('01')), undefined);
    assert.equal(rtuAnswerLength(hex('01 03')), undefined);
    assert.equal(rtuAnswerLength(hex('01 03 04')), 9);
    assert.equal(rtuAnswerLength(hex('01 03 ff')), 0);
    assert.equal(rtuAnswerLength(hex('01 83')), 5);
    assert.equal(rtuAnswerLength(hex('01 10')), 8);
    assert.equal(rtuAnswerLength(hex('01 16')), 10);
    assert.equal(rtuAnswerLength(hex('01 17 04')), 9);
    assert.equal(rtuAnswerLength(hex('01 2c')), 0);
  });

  test('a Modbus RTU frame of an identification is as long as its objects say', () => {
    const head = '01 2b 0e 01 01 00 00';
    assert.equal(rtuAnswerLength(hex(head)), undefined);
    assert.equal(rtuAnswerLength(hex(`${head} 00`)), 10);
    assert.equal(rtuAnswerLength(hex(`${head} 02 00`)), undefined);
    assert.equal(rtuAnswerLength(hex(`${head} 02 00 02 4142 01`)), undefined);
    assert.equal(rtuAnswerLength(hex(`${head} 02 00 02 4142 01 01`)), 17);
    assert.equal(rtuAnswerLength(hex(`${head} 02 00 ff`)), 0);
  });
});
