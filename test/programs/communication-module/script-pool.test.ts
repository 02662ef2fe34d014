/** Threads that exist in the test only: what the pool asks of them, and what it does when they end. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import {
  createScriptPool,
  type ScriptEvents,
  type ScriptPool,
} from '../../../src/programs/communication-module/script-pool.ts';
import type {
  FromThread,
  ScriptStart,
  ThreadData,
  ToThread,
} from '../../../src/programs/communication-module/thread-messages.ts';
import { settle, TestClock } from '../../support/test-clock.ts';

interface FakeThread {
  data: ThreadData;
  posted: ToThread[];
  isTerminated: boolean;
  say: (message: FromThread) => void;
  end: (error?: Error) => void;
  /** The script of this seat begins, or ends, a slice. */
  slice: (seat: number) => void;
}

const SCRIPT: Omit<ScriptStart, 'seat'> = {
  channelId: 'c',
  script: new Uint8Array(),
  facts: { api: 'v3', telemetry: {}, properties: {}, configuration: {} },
  groups: {},
};

function setUp(scriptsPerThread = 2): {
  pool: ScriptPool;
  clock: TestClock;
  threads: FakeThread[];
  released: number[];
  carriedOut: number[];
  faults: unknown[];
} {
  const clock = new TestClock();
  const threads: FakeThread[] = [];
  const released: number[] = [];
  const carriedOut: number[] = [];
  const faults: unknown[] = [];
  const pool = createScriptPool({
    clock,
    limits: { ...LIMITS.module, scriptsPerThread },
    watchLimits: LIMITS.lua,
    calls: {
      carryOut: (seat, call) => {
        carriedOut.push(seat);
        if (call.kind === 'serial' && call.port === 'broken') return Promise.reject(new Error('ours'));
        return Promise.resolve({ kind: 'done' });
      },
      release: (seat) => released.push(seat),
    },
    surroundings: { isConnected: false, hasRoom: false, timeZone: 'UTC' },
    ports: {},
    onFault: (error) => faults.push(error),
    startThread: ({ data, onMessage, onExit }) => {
      const watch = new Int32Array(data.watch);
      const thread: FakeThread = {
        data,
        posted: [],
        isTerminated: false,
        say: onMessage,
        end: (error) => onExit(error),
        slice: (seat) => {
          Atomics.store(watch, 1, seat);
          Atomics.add(watch, 0, 1);
        },
      };
      threads.push(thread);
      return {
        post: (message) => thread.posted.push(message as ToThread),
        terminate: () => {
          if (!thread.isTerminated) onExit(undefined);
          thread.isTerminated = true;
          return Promise.resolve();
        },
      };
    },
  });
  return { pool, clock, threads, released, carriedOut, faults };
}

function recorder(): ScriptEvents & { messages: FromThread[]; lost: [boolean, string][] } {
  const messages: FromThread[] = [];
  const lost: [boolean, string][] = [];
  return {
    messages,
    lost,
    onMessage: (message) => messages.push(message),
    onThreadLost: (isCulprit, message) => lost.push([isCulprit, message]),
  };
}

const log = (seat: number): FromThread => ({
  kind: 'log',
  seat,
  message: 'm',
  severity: 'info',
  persist: false,
});

describe('the threads of a module', () => {
  test('hear nothing of a script that has been stopped, and what it still says is nobody’s', () => {
    const { pool, threads, released } = setUp();
    const events = recorder();
    const seat = pool.start(SCRIPT, events, false);
    seat.stop();
    seat.stop();
    seat.post({ kind: 'command', id: 'x', name: 'y', argumentsText: '{}' });
    threads[0]?.say(log(1));
    assert.deepEqual(events.messages, []);
    assert.deepEqual(
      threads[0]?.posted.map(({ kind }) => kind),
      ['start', 'stop'],
    );
    assert.deepEqual(released, [1]);
  });

  test('hold so many scripts each, and end when their last script is gone', () => {
    const { pool, threads } = setUp(2);
    const seats = [1, 2, 3].map(() => pool.start(SCRIPT, recorder(), false));
    assert.equal(threads.length, 2);
    seats[2]?.stop();
    assert.deepEqual(
      threads.map(({ isTerminated }) => isTerminated),
      [false, true],
    );
  });

  test('are ended by a slice that lasts too long: the culprit is named, the others are told', async () => {
    const { pool, clock, threads, released } = setUp(3);
    const [first, second] = [recorder(), recorder()];
    pool.start(SCRIPT, first, false);
    pool.start(SCRIPT, second, false);
    threads[0]?.slice(2);
    await clock.advance(LIMITS.lua.stuckMs + 2 * LIMITS.lua.watchIntervalMs);
    assert.equal(threads[0]?.isTerminated, true);
    assert.deepEqual(second.lost, [[true, 'execution time exceeded']]);
    assert.deepEqual(first.lost, [[false, 'a script beside it was stuck and its thread was ended']]);
    assert.deepEqual(released, [1, 2]);
  });

  test('are left alone while slices begin and end, however busy they are', async () => {
    const { pool, clock, threads } = setUp();
    pool.start(SCRIPT, recorder(), false);
    for (let count = 0; count < 100; count += 1) {
      threads[0]?.slice(1);
      await clock.advance(100);
    }
    assert.equal(threads[0]?.isTerminated, false);
  });

  test('give a script that was stuck before a thread of its own, which no other script enters', () => {
    const { pool, threads } = setUp(5);
    const alone = pool.start(SCRIPT, recorder(), true);
    pool.start(SCRIPT, recorder(), false);
    pool.start(SCRIPT, recorder(), false);
    assert.deepEqual(
      threads.map(({ posted }) => posted.length),
      [1, 2],
    );
    alone.stop();
    assert.equal(threads[0]?.isTerminated, true);
  });

  test('that end by themselves are everybody’s failure, unless one was in the middle of a slice', () => {
    const { pool, threads } = setUp(3);
    const [first, second] = [recorder(), recorder()];
    pool.start(SCRIPT, first, false);
    pool.start(SCRIPT, second, false);
    threads[0]?.end(new Error('out of memory'));
    assert.deepEqual(first.lost, [[true, 'its thread ended: out of memory']]);
    assert.deepEqual(second.lost, [[true, 'its thread ended: out of memory']]);
    const third = recorder();
    pool.start(SCRIPT, third, false);
    threads[1]?.slice(3);
    threads[1]?.end();
    assert.deepEqual(third.lost, [[true, 'its thread ended: without a reason']]);
  });

  test('get answers to what they ask, as long as the script runs', async () => {
    const { pool, threads, carriedOut } = setUp();
    const seat = pool.start(SCRIPT, recorder(), false);
    const ask = (call: number): FromThread => ({
      kind: 'call',
      seat: 1,
      call,
      request: { kind: 'serial', port: 'rs485', operation: { do: 'flush' } },
    });
    threads[0]?.say(ask(7));
    await settle();
    assert.deepEqual(threads[0]?.posted.at(-1), { kind: 'answer', call: 7, result: { kind: 'done' } });
    threads[0]?.say(ask(8));
    seat.stop();
    await settle();
    assert.equal(threads[0]?.posted.at(-1)?.kind, 'stop');
    assert.deepEqual(carriedOut, [1, 1]);
  });

  test('are told when a call fails by a fault of ours, which is reported', async () => {
    const { pool, threads, faults } = setUp();
    pool.start(SCRIPT, recorder(), false);
    const request = { kind: 'serial', port: 'broken', operation: { do: 'flush' } } as const;
    threads[0]?.say({ kind: 'call', seat: 1, call: 1, request });
    await settle();
    assert.equal(faults.length, 1);
    const answer = threads[0]?.posted.at(-1);
    assert.deepEqual(answer, {
      kind: 'answer',
      call: 1,
      result: { kind: 'fault', fault: { text: 'internal fault', number: 7 } },
    });
  });

  test('are told of the surroundings, later ones at their start', async () => {
    const { pool, threads } = setUp(1);
    pool.start(SCRIPT, recorder(), false);
    const surroundings = { isConnected: true, hasRoom: true, timeZone: 'Europe/Berlin' };
    pool.surround(surroundings);
    assert.deepEqual(threads[0]?.posted.at(-1), { kind: 'surroundings', surroundings });
    pool.start(SCRIPT, recorder(), false);
    assert.deepEqual(threads[1]?.data.surroundings, surroundings);
    await pool.stop();
    assert.ok(threads.every(({ isTerminated }) => isTerminated));
  });
});
