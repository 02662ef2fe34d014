/** What a module says over its link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { createPublisher } from '../../src/field-module/publisher.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog } from '../support/workspace.ts';

function setUp() {
  const clock = new TestClock();
  const link = { isReady: true, hasRoom: true };
  const said: { channel: string; subject: string; body: Record<string, unknown> }[] = [];
  let isClockBelieved = true;
  const note = (channel: string, subject: string, text: string): true => {
    said.push({ channel, subject, body: JSON.parse(text) as Record<string, unknown> });
    return true;
  };
  const publisher = createPublisher({
    link: {
      get isReady() {
        return link.isReady;
      },
      send: (channel, subject, text) => link.isReady && note(channel, subject, text),
      keep: (channel, subject, text) => link.hasRoom && note(channel, subject, text),
    },
    clock,
    log: recordingLog(clock).log,
    limits: LIMITS.module,
    counts: () => ({ running: 0, failed: 0, portsFailed: 0 }),
    isClockBelieved: () => isClockBelieved,
    onPulse: () => undefined,
  });
  return { clock, link, said, publisher, doubt: () => void (isClockBelieved = false) };
}

test('log entries without room are counted, and reported as soon as the gateway is there', async (t) => {
  const { clock, link, said, publisher } = setUp();
  t.after(() => publisher.stop());
  link.isReady = false;
  link.hasRoom = false;
  for (const channel of ['c1', 'c1', 'c2'])
    publisher.log(channel, { message: 'no answer', severity: 'error', persist: true });
  publisher.log('c3', { message: 'not kept', severity: 'error', persist: false });
  link.hasRoom = true;
  await clock.advance(3_000);
  assert.deepEqual(said, []);
  link.isReady = true;
  await clock.advance(3_000);
  const logs = said.filter(({ subject }) => subject === 'log');
  assert.deepEqual(
    logs.map(({ channel, body }) => [channel, body['message'], body['severity'], body['persist']]),
    [
      ['c1', '2 log entries were lost: too much was waiting for the gateway', 'warning', true],
      ['c2', '1 log entries were lost: too much was waiting for the gateway', 'warning', true],
    ],
  );
});

test('no message has a time of its own while the clock of the board is wrong', async (t) => {
  const { clock, said, publisher, doubt } = setUp();
  t.after(() => publisher.stop());
  const say = async (): Promise<void> => {
    publisher.introduce();
    publisher.log('c1', { message: 'a', severity: 'info', persist: true });
    await clock.advance(1_000);
  };
  await say();
  assert.deepEqual(
    said.map(({ subject, body }) => [subject, 'timestamp' in body]),
    [
      ['properties', true],
      ['log', true],
      ['telemetry', true],
    ],
  );
  said.length = 0;
  doubt();
  await say();
  assert.deepEqual(
    said.map(({ subject, body }) => [subject, 'timestamp' in body]),
    [
      ['properties', false],
      ['log', false],
      ['telemetry', false],
    ],
  );
});
