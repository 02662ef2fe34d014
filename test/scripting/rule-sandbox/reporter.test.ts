/** What the sandbox tells a gateway that does not read fast enough. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createReporter } from '../../../src/scripting/rule-sandbox/sandbox.ts';
import {
  decodeFromSandbox,
  type FromSandbox,
  type SandboxReport,
} from '../../../src/protocol/rule-sandbox.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';

function setUp() {
  const clock = new TestClock();
  const told: FromSandbox[] = [];
  const waiting: (() => void)[] = [];
  const link = {
    room: Number.POSITIVE_INFINITY,
    isClosed: false,
    send: (payload: string | Uint8Array) => {
      if (link.isClosed || link.room <= 0) return false;
      link.room--;
      told.push(decodeFromSandbox(payload));
      return true;
    },
    drained: () =>
      link.isClosed || link.room > 0
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiting.push(resolve)),
    /** The gateway reads so many messages, or, with 0, is gone. */
    read: async (count: number) => {
      link.isClosed = count === 0;
      link.room = count;
      for (const resolve of waiting.splice(0)) resolve();
      await settle();
    },
  };
  const tell = createReporter({ link, clock, log: recordingLog(clock).log });
  return { tell, link, told };
}

const state = (ruleId: string, word: 'STARTED' | 'STOPPED'): SandboxReport => ({
  type: 'state',
  ruleId,
  generation: 1,
  state: word,
});
const entries = (ruleId: string, count: number): SandboxReport => ({
  type: 'log',
  ruleId,
  generation: 1,
  entries: Array.from({ length: count }, () => ({ timestampMs: 0, severity: 'info', message: 'm' })),
});
const shown = (messages: readonly FromSandbox[]): string[] =>
  messages.map((message) => {
    if (message.type === 'state') return `${message.ruleId} ${message.state}`;
    if (message.type === 'log') return message.entries.map((entry) => entry.message).join(' ');
    return message.type;
  });

describe('a gateway that does not read fast enough', () => {
  test('a gateway that reads slowly gets the newest state of each rule, the ends of runs, and the number of missing entries', async () => {
    const { tell, link, told } = setUp();
    link.room = 0;
    assert.equal(tell(state('a', 'STARTED')), false);
    tell(entries('a', 2));
    tell(state('b', 'STARTED'));
    tell({ type: 'run_ended', ruleId: 'b', run: 7 });
    tell({ type: 'status', rules: [], threads: 1, threadsEnded: 0 });
    tell(state('a', 'STOPPED'));
    tell(entries('a', 3));
    await link.read(2);
    assert.equal(told.length, 2);
    await link.read(10);
    assert.deepEqual(shown(told), [
      'a STOPPED',
      '5 log entries were dropped: the gateway did not read fast enough',
      'b STARTED',
      'run_ended',
    ]);
    told.length = 0;
    assert.equal(tell(entries('a', 1)), true);
    assert.deepEqual(shown(told), ['m']);
  });

  test('a gateway that has gone gets no more messages, and nobody tries for ever', async () => {
    const { tell, link, told } = setUp();
    link.room = 0;
    tell(state('a', 'STARTED'));
    await link.read(0);
    await settle();
    assert.deepEqual(told, []);
  });
});
