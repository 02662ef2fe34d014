import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { addressOf, readAnswer } from '../../../src/platform/mdns/lookup.ts';
import { encodeMessage } from '../../../src/platform/mdns/message.ts';

const clock = createSystemClock();
after(() => clock.close());

const unknown = (): Promise<string> => Promise.reject(new Error('not found'));

const addresses = ['127.0.0.1'];

function encodeQuestion(name: string): Buffer {
  return encodeMessage({ questions: [{ name, type: 'A', isUnicast: false }] });
}

/** The answer of a host to a question: its name by a pointer into the question, and its address. */
function answerTo(question: Buffer, address: readonly number[]): Buffer {
  const answer = Buffer.from(question);
  answer.writeUInt16BE(0x8400, 2);
  answer.writeUInt16BE(1, 6);
  return Buffer.concat([answer, Buffer.of(0xc0, 12, 0, 1, 0x80, 1, 0, 0, 0, 120, 0, 4, ...address)]);
}

async function responder(onQuestion: (question: Buffer, reply: (answer: Buffer) => void) => void): Promise<{
  socket: Socket;
  group: { address: string; port: number };
}> {
  const socket = createSocket('udp4');
  socket.on('message', (question, from) =>
    onQuestion(question, (answer) => socket.send(answer, from.port, from.address)),
  );
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { socket, group: { address: '127.0.0.1', port: socket.address().port } };
}

describe('a name on the local network', () => {
  test('a name on the local network is unknown after a few questions when nobody answers for it', async () => {
    let questions = 0;
    const { socket, group } = await responder(() => (questions += 1));
    await assert.rejects(
      addressOf('nobody.local', { clock, group, addresses, resolve: unknown, limits: { localNameMs: 90 } }),
      /nobody.local is not known on this network/,
    );
    assert.equal(questions, 3);
    socket.close();
  });

  test('a name on the local network is asked for only when it ends so and the system does not know it', async () => {
    const limits = { localNameMs: 90 };
    assert.equal(await addressOf('10.0.0.1', { clock, resolve: unknown, limits }), '10.0.0.1');
    assert.equal(await addressOf('gateway.example', { clock, resolve: unknown, limits }), 'gateway.example');
    const known = addressOf('gateway.local', { clock, resolve: () => Promise.resolve('10.0.0.2'), limits });
    assert.equal(await known, '10.0.0.2');
  });

  test('a name on the local network is found though the first question is lost and others answer too', async () => {
    let questions = 0;
    const { socket, group } = await responder((question, reply) => {
      questions += 1;
      if (questions === 1) return;
      reply(Buffer.from('nonsense'));
      reply(answerTo(encodeQuestion('other.local'), [10, 0, 0, 9]));
      reply(answerTo(question, [10, 0, 0, 3]));
    });
    const options = { clock, group, addresses, resolve: unknown, limits: { localNameMs: 900 } };
    assert.equal(await addressOf('Gateway.local.', options), '10.0.0.3');
    socket.close();
  });

  test('a name on the local network is not read from random bytes, and a ring of pointers does not hang', () => {
    assert.equal(readAnswer(answerTo(encodeQuestion('a.local'), [1, 2, 3, 4]), 'A.local'), '1.2.3.4');
    const ring = answerTo(encodeQuestion('a.local'), [1, 2, 3, 4]);
    ring.writeUInt16BE(0xc00c, 12);
    assert.equal(readAnswer(ring, 'a.local'), undefined);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), fc.boolean(), (bytes, isResponse) => {
        const message = Buffer.from(bytes);
        if (isResponse && message.length > 2) message[2] = (message[2] ?? 0) | 0x80;
        assert.equal(readAnswer(message, 'gateway.local'), undefined);
      }),
    );
  });
});
