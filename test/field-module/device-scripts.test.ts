/** Threads that exist in the test only: what the pool asks of them, and what it does when they end. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { DeviceScripts, type ScriptEvents } from '../../src/field-module/device-scripts.ts';
import type { DeviceTypes, ScriptEvent } from '../../src/field-module/thread-messages.ts';
import {
  type FromThread,
  type ThreadSetup,
  type ToThread,
  WATCH_WORDS,
} from '../../src/scripting/host/messages.ts';
import { settle, TestClock } from '../support/test-clock.ts';
import { threadWithoutRoom } from '../support/thread-without-room.ts';

type Said = FromThread<DeviceTypes>;

interface FakeThread {
  data: ThreadSetup<DeviceTypes>;
  posted: ToThread<DeviceTypes>[];
  isTerminated: boolean;
  say: (message: Said) => void;
  end: (error?: Error) => void;
  /** The script of this run begins a slice; 0: none runs. */
  slice: (run: number) => void;
}

const SCRIPT = {
  channelId: 'c',
  script: new Uint8Array(),
  facts: { api: 'v3', telemetry: {}, properties: {}, configuration: {} },
  groups: {},
} as const;

function setUp(scriptsPerThread = 2, canStart = (): boolean => true) {
  const clock = new TestClock();
  const threads: FakeThread[] = [];
  const released: number[] = [];
  const carriedOut: number[] = [];
  const faults: unknown[] = [];
  const scripts = new DeviceScripts({
    clock,
    limits: { ...LIMITS, module: { ...LIMITS.module, scriptsPerThread } },
    calls: {
      carryOut: (run, call) => {
        carriedOut.push(run);
        if (call.kind === 'serial' && call.port === 'broken') return Promise.reject(new Error('ours'));
        return Promise.resolve({ kind: 'done' });
      },
      release: (run) => released.push(run),
    },
    surroundings: {
      isConnected: false,
      hasRoom: false,
      isClockBelieved: true,
      timeZone: 'UTC',
      commandMs: 60_000,
      traced: [],
    },
    ports: {},
    onFault: (error) => faults.push(error),
    startThread: ({ data, onMessage, onExit }) => {
      if (!canStart()) return threadWithoutRoom(onExit);
      const setup = data as ThreadSetup<DeviceTypes>;
      const words = new Int32Array(setup.watch);
      const thread: FakeThread = {
        data: setup,
        posted: [],
        isTerminated: false,
        say: (message) => onMessage([message]),
        end: (error) => onExit(error),
        slice: (run) => {
          Atomics.store(words, WATCH_WORDS.run, run);
          Atomics.add(words, WATCH_WORDS.slices, 1);
        },
      };
      threads.push(thread);
      const end = (): Promise<void> => {
        if (!thread.isTerminated) onExit(undefined);
        thread.isTerminated = true;
        return Promise.resolve();
      };
      return {
        post: (messages) => thread.posted.push(...(messages as ToThread<DeviceTypes>[])),
        end,
        terminate: end,
        processorMs: () => Promise.resolve(0),
      };
    },
  });
  return { scripts, clock, threads, released, carriedOut, faults };
}

function recorder(): ScriptEvents & { messages: ScriptEvent[]; lost: [because: string, message: string][] } {
  const messages: ScriptEvent[] = [];
  const lost: [because: string, message: string][] = [];
  return {
    messages,
    lost,
    onEvent: (message) => messages.push(message),
    onThreadLost: (...loss) => lost.push(loss),
  };
}

const log = (run: number): Said => ({
  type: 'event',
  run,
  event: { kind: 'log', message: 'm', severity: 'info', persist: false },
});

describe('the threads of a module', () => {
  test('a thread of a module ignores a script that has been stopped, and its last messages', async () => {
    const { scripts, threads, released } = setUp();
    const events = recorder();
    const run = scripts.start(SCRIPT, events, false);
    run.stop();
    run.stop();
    run.tell({ kind: 'command', id: 'x', name: 'y', argumentsText: '{}', waitedMs: 0 });
    threads[0]?.say(log(1));
    assert.deepEqual(events.messages, []);
    await settle();
    assert.deepEqual(
      threads[0]?.posted.map(({ type }) => type),
      ['start', 'stop'],
    );
    assert.deepEqual(released, [1]);
  });

  test('a thread of a module holds a bounded number of scripts, and ends with its last one', () => {
    const { scripts, threads } = setUp(2);
    const runs = [1, 2, 3].map(() => scripts.start(SCRIPT, recorder(), false));
    assert.equal(threads.length, 2);
    runs[2]?.stop();
    threads[1]?.say({ type: 'over', run: 3 });
    assert.deepEqual(
      threads.map(({ isTerminated }) => isTerminated),
      [false, true],
    );
  });

  test('a thread of a module is ended by a slice that lasts too long: the culprit is named, the others are restarted', async () => {
    const { scripts, clock, threads, released } = setUp(3);
    const [first, second] = [recorder(), recorder()];
    scripts.start(SCRIPT, first, false);
    scripts.start(SCRIPT, second, false);
    threads[0]?.slice(2);
    await clock.advance(LIMITS.lua.stuckMs + 2 * LIMITS.lua.watchIntervalMs);
    assert.equal(threads[0]?.isTerminated, true);
    assert.deepEqual(second.lost, [['itself', 'execution time exceeded']]);
    assert.deepEqual(first.lost, [['neighbour', 'a script beside it was stuck and its thread was ended']]);
    assert.deepEqual(released, [1, 2]);
  });

  test('a thread of a module is left alone when the process stood still in the middle of a slice', async () => {
    const { scripts, clock, threads } = setUp();
    scripts.start(SCRIPT, recorder(), false);
    threads[0]?.slice(1);
    await clock.advance(LIMITS.lua.watchIntervalMs);
    clock.spend(60_000);
    await clock.advance(LIMITS.lua.stuckMs / 2);
    threads[0]?.slice(0);
    await clock.advance(LIMITS.lua.stuckMs);
    assert.equal(threads[0]?.isTerminated, false);
  });

  test('a thread of a module is left alone while slices begin and end, however busy it is', async () => {
    const { scripts, clock, threads } = setUp();
    scripts.start(SCRIPT, recorder(), false);
    for (let count = 0; count < 100; count += 1) {
      threads[0]?.slice(count % 2 === 0 ? 1 : 0);
      await clock.advance(100);
    }
    assert.equal(threads[0]?.isTerminated, false);
  });

  test('one thread of a module runs as many scripts as a module has', () => {
    const { scripts, threads } = setUp(LIMITS.module.scriptsPerThread);
    for (let count = 0; count < LIMITS.module.scripts; count++) scripts.start(SCRIPT, recorder(), false);
    assert.equal(threads.length, 1);
  });

  test('a script that was stuck before gets a thread of its own, which no other script enters', async () => {
    const { scripts, threads } = setUp(5);
    const alone = scripts.start(SCRIPT, recorder(), true);
    scripts.start(SCRIPT, recorder(), false);
    scripts.start(SCRIPT, recorder(), false);
    await settle();
    assert.deepEqual(
      threads.map(({ posted }) => posted.length),
      [1, 2],
    );
    alone.stop();
    threads[0]?.say({ type: 'over', run: 1 });
    assert.equal(threads[0]?.isTerminated, true);
  });

  test('a thread that ends by itself counts as a failure of all its scripts, unless one was in the middle of a slice', () => {
    const { scripts, threads } = setUp(3);
    const [first, second] = [recorder(), recorder()];
    scripts.start(SCRIPT, first, false);
    scripts.start(SCRIPT, second, false);
    threads[0]?.end(new Error('out of memory'));
    assert.deepEqual(first.lost, [['unknown', 'its thread ended: out of memory']]);
    assert.deepEqual(second.lost, [['unknown', 'its thread ended: out of memory']]);
    const third = recorder();
    scripts.start(SCRIPT, third, false);
    threads[1]?.slice(3);
    threads[1]?.end();
    assert.deepEqual(third.lost, [['itself', 'its thread ended: without a reason']]);
  });

  test('the threads of a module get answers to their questions as long as the script runs', async () => {
    const { scripts, threads, carriedOut } = setUp();
    const run = scripts.start(SCRIPT, recorder(), false);
    const ask = (call: number): Said => ({
      type: 'request',
      run: 1,
      call,
      request: { kind: 'serial', port: 'rs485', operation: { do: 'flush' } },
    });
    threads[0]?.say(ask(7));
    await settle();
    assert.deepEqual(threads[0]?.posted.at(-1), { type: 'answer', call: 7, answer: { kind: 'done' } });
    threads[0]?.say(ask(8));
    run.stop();
    await settle();
    assert.equal(threads[0]?.posted.at(-1)?.type, 'stop');
    assert.deepEqual(carriedOut, [1, 1]);
  });

  test('the threads of a module get an error when a call fails by a fault of ours, which is reported', async () => {
    const { scripts, threads, faults } = setUp();
    scripts.start(SCRIPT, recorder(), false);
    const request = { kind: 'serial', port: 'broken', operation: { do: 'flush' } } as const;
    threads[0]?.say({ type: 'request', run: 1, call: 1, request });
    await settle();
    assert.equal(faults.length, 1);
    const answer = threads[0]?.posted.at(-1);
    assert.deepEqual(answer, {
      type: 'answer',
      call: 1,
      answer: { kind: 'fault', fault: { text: 'internal fault', number: 7 } },
    });
  });

  test('the threads of a module get the environment, later ones at their start', async () => {
    const { scripts, threads } = setUp(1);
    scripts.start(SCRIPT, recorder(), false);
    const surroundings = {
      isConnected: true,
      hasRoom: true,
      isClockBelieved: true,
      timeZone: 'Europe/Berlin',
      commandMs: 60_000,
      traced: [],
    };
    scripts.surround(surroundings);
    await settle();
    assert.deepEqual(threads[0]?.posted.at(-1), { type: 'shared', shared: surroundings });
    scripts.start(SCRIPT, recorder(), false);
    assert.deepEqual(threads[1]?.data.shared, surroundings);
    await scripts.stop();
    assert.ok(threads.every(({ isTerminated }) => isTerminated));
  });

  test('a thread for which the system has no room counts as a failure, like one that ended', async () => {
    let hasRoom = false;
    const { scripts, threads } = setUp(2, () => hasRoom);
    const events = recorder();
    scripts.start(SCRIPT, events, false);
    assert.deepEqual(events.lost, []);
    await settle();
    assert.deepEqual(events.lost, [['unknown', 'its thread ended: no room']]);
    hasRoom = true;
    scripts.start(SCRIPT, events, false);
    await settle();
    assert.equal(threads[0]?.posted.length, 1);
  });
});
