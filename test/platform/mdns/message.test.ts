import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { decodeMessage, encodeMessage, isSameRecord } from '../../../src/platform/mdns/message.ts';

const ADDRESS = {
  name: 'a.local',
  type: 'A',
  ttl: 120,
  class: 'IN',
  flush: true,
  data: '1.2.3.4',
} as const;

/** The types that a host of ours has, and compares. */
const COMPARED: ReadonlySet<string> = new Set(['A', 'PTR', 'SRV', 'TXT', 'NSEC']);

/** A name on the wire. */
const wireName = (...labels: string[]): Buffer =>
  Buffer.concat(labels.flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]));

describe('a message of multicast DNS', () => {
  test('a message of multicast DNS is refused when it is cut off, has a ring of pointers, or is of another kind', () => {
    const whole = encodeMessage({
      questions: [{ name: 'a.local', type: 'A', isUnicast: false }],
      answers: [ADDRESS],
    });
    for (let length = 0; length < whole.length; length += 1)
      assert.equal(decodeMessage(whole.subarray(0, length)), undefined, `${length} bytes`);
    const ring = Buffer.from(whole);
    ring.writeUInt16BE(0xc00c, 12);
    assert.equal(decodeMessage(ring), undefined);
    const update = Buffer.from(whole);
    update.writeUInt16BE(5 << 11, 2);
    assert.equal(decodeMessage(update), undefined);
    const endless = Buffer.from(whole);
    endless.writeUInt16BE(60_000, 4);
    assert.equal(decodeMessage(endless), undefined);
  });

  test('a message of multicast DNS survives any bytes', () => {
    const header = [0, 0, 0x84, 0];
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 8, minLength: 8 }),
        fc.uint8Array({ maxLength: 300 }),
        (c, b) => {
          const counts = c.map((byte, index) => (index % 2 === 0 ? 0 : byte % 4));
          const message = decodeMessage(Buffer.from([...header, ...counts, ...b]));
          for (const record of message?.answers ?? [])
            if (COMPARED.has(record.type)) assert.ok(isSameRecord(record, { ...record }));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('a message of multicast DNS is read when another program wrote pointers in names and data, without records of other classes', () => {
    const name = wireName('_http', '_tcp', 'local', '');
    const header = Buffer.from('000084000000000200000000', 'hex');
    const target = Buffer.concat([wireName('box'), Buffer.of(0xc0, 12)]);
    const pointer = Buffer.concat([name, Buffer.of(0, 12, 0, 1, 0, 0, 0, 120, 0, target.length), target]);
    const chaos = Buffer.concat([Buffer.of(0xc0, 12), Buffer.of(0, 1, 0, 3, 0, 0, 0, 1, 0, 4, 9, 9, 9, 9)]);
    const message = decodeMessage(Buffer.concat([header, pointer, chaos])) ?? assert.fail();
    assert.deepEqual(message.answers, [
      {
        name: '_http._tcp.local',
        type: 'PTR',
        ttl: 120,
        class: 'IN',
        flush: false,
        data: 'box._http._tcp.local',
      },
    ]);
  });

  test('a message of multicast DNS carries the request for a unicast answer in the class of its question', () => {
    const questions = [
      { name: 'a.local', type: 'ANY', isUnicast: true },
      { name: 'printer._ipp._tcp.local', type: 'SRV', isUnicast: false },
    ] as const;
    const bytes = encodeMessage({ questions });
    assert.deepEqual(
      bytes.subarray(12, 25),
      Buffer.concat([wireName('a', 'local', ''), Buffer.of(0, 255, 0x80, 1)]),
    );
    assert.deepEqual(decodeMessage(bytes)?.questions, questions);
  });
});
