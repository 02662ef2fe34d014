import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { decodeMessage, encodeMessage, encodeName, TYPE } from '../../../src/platform/mdns/message.ts';

describe('a message of multicast DNS', () => {
  test('is none when it is cut off, has a ring of pointers, or is of another kind', () => {
    const whole = encodeMessage({
      questions: [{ name: 'a.local', type: TYPE.A, isUnicast: false }],
      answers: [{ name: 'a.local', type: TYPE.A, ttlS: 120, isUnique: true, data: Buffer.of(1, 2, 3, 4) }],
    });
    for (let length = 0; length < whole.length; length += 1)
      assert.equal(decodeMessage(whole.subarray(0, length)), undefined);
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

  test('survives any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const message = Buffer.from(bytes);
        if (message.length > 3) message.writeUInt16BE(0, 2);
        decodeMessage(message);
      }),
    );
  });

  test('has no name with an empty or a long label, or that is too long', () => {
    for (const name of ['', 'a..local', 'x'.repeat(64), Array.from({ length: 60 }, () => 'long').join('.')])
      assert.throws(() => encodeName(name), RangeError);
  });

  test('reads what another wrote: pointers in names and in data, other classes passed over', () => {
    const name = encodeName('_http._tcp.local');
    const header = Buffer.from('00008400000000020000 0000'.replace(' ', ''), 'hex');
    const target = Buffer.concat([Buffer.of(3), Buffer.from('box'), Buffer.of(0xc0, 12)]);
    const pointer = Buffer.concat([name, Buffer.of(0, 12, 0, 1, 0, 0, 0, 120, 0, target.length), target]);
    const chaos = Buffer.concat([Buffer.of(0xc0, 12), Buffer.of(0, 1, 0, 3, 0, 0, 0, 1, 0, 1, 9)]);
    const message = decodeMessage(Buffer.concat([header, pointer, chaos])) ?? assert.fail();
    assert.deepEqual(message.answers, [
      {
        name: '_http._tcp.local',
        type: TYPE.PTR,
        ttlS: 120,
        isUnique: false,
        data: encodeName('box._http._tcp.local'),
      },
    ]);
  });
});
