import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { ContentLibrary } from '../../src/field-module/content-library.ts';
import { type ControlChannel, createControlChannel } from '../../src/field-module/control-channel.ts';
import {
  contentChunk,
  decodeFromModule,
  encodeModuleMessage,
  type FromModule,
  type ToModule,
} from '../../src/protocol/module.ts';
import { TestClock } from '../support/test-clock.ts';

const MODULE = LIMITS.module;

function setUp(): {
  clock: TestClock;
  channel: ControlChannel;
  said: FromModule[];
  heard: string[];
  link: { isOpen: boolean };
  hear: (message: ToModule) => void;
} {
  const clock = new TestClock();
  const said: FromModule[] = [];
  const heard: string[] = [];
  const link = { isOpen: true };
  const channel = createControlChannel({
    clock,
    limits: MODULE,
    run: 'r1',
    offers: ['modbus'],
    send: (text) => {
      const decoded = decodeFromModule(Buffer.from(text));
      if (!('message' in decoded)) assert.fail(decoded.problem);
      if (link.isOpen) said.push(decoded.message);
      return link.isOpen;
    },
    onMessage: (message) => heard.push(wordsOf(message)),
    onUnreadable: (problem) => heard.push(`unreadable: ${problem}`),
  });
  const hear = (message: ToModule): void => channel.receive(Buffer.from(encodeModuleMessage(message)));
  return { clock, channel, said, heard, link, hear };
}

function wordsOf(message: ToModule): string {
  if (message.type === 'scan') return `scan ${message.uri}`;
  if (message.type === 'scan_stop') return `stop ${message.id}`;
  if (message.type === 'restart') return `restart ${message.channel_id ?? 'all'}`;
  return message.type;
}

describe('the channel of a module', () => {
  test('the channel of a module ignores unreadable messages, and answers without a question', () => {
    const { channel, heard, hear } = setUp();
    channel.receive(Buffer.from('{'));
    channel.receive(Buffer.from('{"type":"explode"}'));
    hear({ type: 'answer', id: 'r1-99' });
    assert.equal(heard.length, 2);
    assert.match(heard[0] ?? '', /unreadable: a message is not JSON/);
  });

  test('the channel of a module hands on scans and their ends', () => {
    const { heard, hear } = setUp();
    hear({ type: 'scan', id: 's1', uri: 'tcp://a', first_unit: 1, last_unit: 2, timeout_ms: 100 });
    hear({ type: 'scan_stop', id: 's1' });
    assert.deepEqual(heard, ['scan tcp://a', 'stop s1']);
  });

  test('the channel of a module fails a question at its time limit, at a loss, and without a connection', async () => {
    const { clock, channel, link } = setUp();
    const question = { type: 'storage_read', channel_id: 'c', key: 'k' } as const;
    const slow = channel.request(question);
    await clock.advance(MODULE.answerMs);
    assert.equal((await slow).error, 'timeout');
    const lost = channel.request(question);
    channel.lost();
    assert.equal((await lost).error, 'the gateway is not connected');
    link.isOpen = false;
    assert.equal((await channel.request(question)).error, 'the gateway is not connected');
    assert.equal(clock.waiting, 0);
  });

  test('the channel of a module repeats its hello until something is assigned, and after a loss', async () => {
    const { clock, channel, said, heard, hear } = setUp();
    channel.connected();
    await clock.advance(MODULE.helloMs * 2);
    assert.equal(said.length, 3);
    hear({ type: 'assignments', revision: 1, time_zone: 'UTC', devices: [] });
    await clock.advance(MODULE.helloMs * 5);
    assert.equal(said.length, 3);
    channel.lost();
    channel.connected();
    assert.equal(said.length, 4);
    hear({ type: 'restart' });
    hear({ type: 'restart', channel_id: 'c' });
    assert.deepEqual(heard, ['assignments', 'restart all', 'restart c']);
  });

  test('the channel of a module ignores messages for another module with the same credentials', async () => {
    const { clock, channel, said, heard, hear } = setUp();
    channel.connected();
    hear({ type: 'assignments', revision: 1, time_zone: 'UTC', devices: [], run: 'r2' });
    hear({ type: 'refused', run: 'r2', reason: 'r1 is there' });
    await clock.advance(MODULE.helloMs);
    assert.deepEqual([said.length, heard], [2, []]);
    hear({ type: 'assignments', revision: 1, time_zone: 'UTC', devices: [], run: 'r1' });
    hear({ type: 'refused', run: 'r1', reason: 'r2 is there' });
    assert.deepEqual(heard, ['assignments', 'refused']);
  });

  test('the channel of a module brings each answer to its question', async () => {
    const { channel, said, hear } = setUp();
    const questions = ['a', 'b'].map((key) =>
      channel.request({ type: 'storage_read', channel_id: 'c', key }),
    );
    for (const message of said.toReversed())
      if (message.type === 'storage_read')
        hear({ type: 'answer', id: message.id, value: Buffer.from(message.key) });
    const values = (await Promise.all(questions)).map(({ value }) => value?.toString());
    assert.deepEqual(values, ['a', 'b']);
  });
});

describe('the library of contents', () => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) & 0xff));
  const hash = createHash('sha256').update(bytes).digest('hex');
  const reference = { hash, size: bytes.length };

  function library(): {
    clock: TestClock;
    asked: number[];
    complete: string[];
    damaged: string[];
    contents: ContentLibrary;
    deliver: (change?: (chunk: Buffer) => Buffer) => void;
  } {
    const clock = new TestClock();
    const asked: number[] = [];
    const complete: string[] = [];
    const damaged: string[] = [];
    const contents = new ContentLibrary({
      clock,
      limits: MODULE,
      ask: (_, offset) => asked.push(offset),
      onComplete: (done) => complete.push(done),
      onDamaged: (bad) => damaged.push(bad),
    });
    const deliver = (change: (chunk: Buffer) => Buffer = (chunk) => chunk): void => {
      const chunk = contentChunk(hash, bytes, asked.at(-1) ?? 0) ?? assert.fail();
      contents.receive({ ...chunk, data: change(chunk.data) });
    };
    return { clock, asked, complete, damaged, contents, deliver };
  }

  test('the library of contents drops content that is damaged, too long or too short, and fetches it again after a pause', async () => {
    for (const damage of [
      (chunk: Buffer): Buffer => Buffer.from(chunk.map((byte) => byte ^ 1)),
      (chunk: Buffer): Buffer => Buffer.concat([chunk, chunk, chunk]),
      (): Buffer => Buffer.alloc(0),
    ]) {
      const { clock, asked, damaged, complete, contents, deliver } = library();
      contents.want([reference]);
      for (let count = 0; count < 3 && damaged.length === 0; count += 1) deliver(damage);
      assert.deepEqual(damaged, [hash]);
      const askedBefore = asked.length;
      await clock.advance(MODULE.answerMs);
      assert.equal(asked.length, askedBefore + 1);
      assert.equal(asked.at(-1), 0);
      for (let count = 0; count < 3; count += 1) deliver();
      assert.deepEqual(complete, [hash]);
      contents.stop();
    }
  });

  test('the library of contents fetches chunk by chunk, asks again without an answer, and takes no chunk twice', async () => {
    const { clock, asked, complete, contents, deliver } = library();
    contents.want([reference, reference]);
    await clock.advance(MODULE.answerMs);
    assert.deepEqual(asked, [0, 0]);
    deliver();
    const again = contentChunk(hash, bytes, 0) ?? assert.fail();
    contents.receive(again);
    contents.askAgain();
    assert.deepEqual(asked, [0, 0, MODULE.chunkBytes, MODULE.chunkBytes]);
    deliver();
    deliver();
    assert.deepEqual(complete, [hash]);
    assert.deepEqual(contents.get(hash), bytes);
    assert.equal(clock.waiting, 0);
  });

  test('the library of contents forgets what nobody needs, also in the middle of fetching it', () => {
    const { clock, complete, contents, deliver } = library();
    contents.want([reference]);
    deliver();
    contents.want([]);
    assert.equal(clock.waiting, 0);
    deliver();
    assert.deepEqual(complete, []);
    assert.equal(contents.get(hash), undefined);
  });
});
