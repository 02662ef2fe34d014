/** Whose turn it is among connections that send requests ahead of responses. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { nextTurn } from '../../../src/platform/clock/index.ts';
import { AheadTurns, RequestFeed } from '../../../src/platform/http/request-feed.ts';

test('connections that sent requests ahead go on one in each turn of the event loop, in order', async () => {
  const turns = new AheadTurns();
  const begun: number[] = [];
  const wait = (number: number): void => void turns.next().then(() => begun.push(number));
  for (const number of [1, 2, 3]) wait(number);
  const each: number[] = [];
  while (begun.length < 5) {
    const before = begun.length;
    await nextTurn();
    each.push(begun.length - before);
    if (begun.length === 2 && begun[1] === 2 && each.at(-1) === 1) for (const number of [4, 5]) wait(number);
  }
  assert.deepEqual(begun, [1, 2, 3, 4, 5]);
  assert.equal(Math.max(...each), 1);
  wait(6);
  while (begun.length < 6) await nextTurn();
  assert.equal(begun.at(-1), 6);
});

const TURN_BYTES = 4_096;
const bodies: [name: string, sent: string][] = [
  ['chunks of one byte', '1\r\nx\r\n'.repeat(11_000)],
  ['chunks that look like ends of heads', '4\r\n\r\n\r\n\r\n'.repeat(6_000)],
  ['one head without an end', `GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(10_000)}`],
];
for (const [name, sent] of bodies)
  test(`a connection that sends ${name} is parsed a few kilobytes in each turn of the event loop`, async () => {
    const line = new PassThrough();
    let [inThisTurn, most, parsed] = [0, 0, ''];
    line.on('data', (piece: Buffer) => {
      inThisTurn += piece.length;
      most = Math.max(most, inThisTurn);
      parsed += piece.toString('latin1');
    });
    const feed = new RequestFeed(line as unknown as Socket, {
      isBusy: () => false,
      requestsAhead: 32,
      onSentAhead: () => undefined,
      turns: new AheadTurns(),
    });
    line.write(sent);
    while (parsed.length < sent.length) {
      await nextTurn();
      inThisTurn = 0;
    }
    feed.stop();
    assert.equal(parsed, sent);
    assert.ok(most <= 2 * TURN_BYTES, `${most} bytes`);
  });

test('connections that begin at the same time are parsed little before the first of them has its turn', async () => {
  const turns = new AheadTurns();
  const parsedBytes = Array.from({ length: 20 }, () => 0);
  const lines = parsedBytes.map((_, index) => {
    const line = new PassThrough();
    line.on('data', (piece: Buffer) => {
      parsedBytes[index] = (parsedBytes[index] ?? 0) + piece.length;
    });
    const options = { isBusy: () => false, requestsAhead: 32, onSentAhead: () => undefined, turns };
    return { line, feed: new RequestFeed(line as unknown as Socket, options) };
  });
  for (const { line } of lines) line.write('1\r\nx\r\n'.repeat(2_000));
  await nextTurn();
  // Two pieces each, and one connection whose turn has come.
  const sum = parsedBytes.reduce((total, each) => total + each, 0);
  for (const { feed } of lines) feed.stop();
  assert.ok(sum > 0 && sum <= 20 * 2 * 1_024 + 2 * TURN_BYTES, `${sum} bytes`);
});

test('a body of a declared length is parsed as it comes', async () => {
  const line = new PassThrough({ highWaterMark: 200_000 });
  const pieces: number[] = [];
  const head = 'POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n';
  line.on('data', (piece: Buffer) => {
    pieces.push(piece.length);
    if (pieces.length === 1) feed.expectBody(100_000);
  });
  const feed = new RequestFeed(line as unknown as Socket, {
    isBusy: () => false,
    requestsAhead: 32,
    onSentAhead: () => undefined,
    turns: new AheadTurns(),
  });
  line.write(head + 'x'.repeat(100_000));
  await nextTurn();
  assert.deepEqual(pieces, [head.length, 100_000]);
});
