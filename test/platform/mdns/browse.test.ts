import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { browse, servicesIn } from '../../../src/platform/mdns/browse.ts';
import { decodeMessage, encodeMessage, type Message } from '../../../src/platform/mdns/message.ts';
import { hostRecords } from '../../../src/platform/mdns/records.ts';

const clock = createSystemClock();
after(() => clock.close());
const never = new AbortController().signal;
const TYPES = ['_shelly._tcp', '_http._tcp'];

/** A machine that answers as this project's own responder does, but the first question is lost. */
async function machine(t: { after: (end: () => unknown) => void }) {
  const records = hostRecords('plug-1', '10.0.0.7', [{ type: '_shelly._tcp', port: 80 }]);
  const socket = createSocket('udp4');
  let questions = 0;
  socket.on('message', (bytes, from) => {
    const query = decodeMessage(bytes);
    questions += 1;
    if (!query || questions === 1) return;
    socket.send(Buffer.from('nonsense'), from.port, from.address);
    const answer = { isResponse: true, ...records.answers(query.questions, []) };
    socket.send(encodeMessage(answer), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return { address: '127.0.0.1', port: socket.address().port };
}

describe('browsing', () => {
  const options = { clock, types: TYPES, browseMs: 300, addresses: ['127.0.0.1'], signal: never };

  test('browsing finds a service once, with the address and port of its machine', async (t) => {
    const found = await browse({ ...options, group: await machine(t), servicesMax: 10 });
    assert.deepEqual(found, [{ type: '_shelly._tcp', name: 'plug-1', address: '10.0.0.7', port: 80 }]);
  });

  test('browsing takes a bounded number of services', async (t) => {
    assert.deepEqual(await browse({ ...options, group: await machine(t), servicesMax: 0 }), []);
  });

  test('browsing ends when it is cancelled', async (t) => {
    const leaving = new AbortController();
    const group = await machine(t);
    const browsing = browse({ ...options, browseMs: 60_000, group, servicesMax: 10, signal: leaving.signal });
    leaving.abort(new Error('left'));
    await assert.rejects(browsing, /left/);
  });
});

describe('an answer to browsing', () => {
  const pointer = (type: string, to: string) => ({
    name: `${type}.local`,
    type: 'PTR' as const,
    class: 'IN' as const,
    ttl: 120,
    data: to,
  });
  const answer = (answers: Message['answers'], isResponse = true): Buffer =>
    encodeMessage({ isResponse, answers });

  test('an answer to browsing without an address gives that of its sender', () => {
    const bytes = answer([pointer('_shelly._tcp', 'Plug._shelly._tcp.local')]);
    assert.deepEqual(servicesIn(bytes, TYPES, '10.0.0.9'), [
      { type: '_shelly._tcp', name: 'Plug', address: '10.0.0.9', port: undefined },
    ]);
  });

  test('an answer to browsing gives nothing when it is a question, of another type, or names no service of that type', () => {
    const own = pointer('_shelly._tcp', 'Plug._shelly._tcp.local');
    for (const bytes of [
      answer([own], false),
      answer([pointer('_ipp._tcp', 'Printer._ipp._tcp.local')]),
      answer([pointer('_shelly._tcp', 'plug.example')]),
      Buffer.from('nonsense'),
    ])
      assert.deepEqual(servicesIn(bytes, TYPES, '10.0.0.9'), []);
  });
});
