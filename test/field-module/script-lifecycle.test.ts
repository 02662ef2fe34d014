/** One device through its failures, with threads that exist in the test only and a clock that the test moves. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import { ScriptLifecycle } from '../../src/field-module/script-lifecycle.ts';
import type { ScriptEvents } from '../../src/field-module/device-scripts.ts';
import type { ConfigurationGroups, GivenCommand } from '../../src/field-module/thread-messages.ts';
import { encodeFacts } from '../../src/protocol/module.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog } from '../support/workspace.ts';

const MODULE = LIMITS.module;
const hashOf = (letter: string): string => letter.repeat(64);
const FACTS = encodeFacts({ api: 'v3', telemetry: {}, properties: {}, configuration: {} });

interface Start {
  events: ScriptEvents;
  isAlone: boolean;
  groups: ConfigurationGroups;
  posted: unknown[];
  isStopped: boolean;
}

function setUp() {
  const clock = new TestClock();
  const starts: Start[] = [];
  const statuses: string[] = [];
  const logs: string[] = [];
  const responses: string[] = [];
  const read: (Record<string, unknown> | undefined)[] = [];
  const verdicts: (string | undefined)[] = [];
  const contents = new Map<string, Buffer>([
    [hashOf('a'), Buffer.from('script')],
    [hashOf('b'), Buffer.from('another')],
    [hashOf('f'), FACTS],
  ]);
  const assignment = (
    script: string,
    blueprintId?: string,
    count?: number,
  ): ScriptLifecycle['assignment'] => ({
    device_id: 'd',
    channel_id: 'c',
    ...(blueprintId !== undefined && { blueprint_id: blueprintId }),
    ...(count !== undefined && { assignment_count: count }),
    script: { hash: hashOf(script), size: 6 },
    facts: { hash: hashOf('f'), size: FACTS.length },
  });
  const lifecycle = new ScriptLifecycle({
    assignment: assignment('a'),
    clock,
    limits: MODULE,
    library: { get: (hash) => contents.get(hash) },
    scripts: {
      start: (script, events, isAlone) => {
        const start: Start = { events, isAlone, groups: script.groups, posted: [], isStopped: false };
        starts.push(start);
        return {
          tell: (order) => void start.posted.push(order),
          stop: () => {
            start.isStopped = true;
          },
        };
      },
    },
    log: recordingLog(clock).log,
    send: (message) => {
      if (message.type === 'configuration_verdict') verdicts.push(message.refusal);
      else if (message.type === 'configuration_values') read.push(message.values);
      else if (message.type === 'status') {
        const { state, reason, reads } = message;
        statuses.push(reason === undefined ? state : `${state}: ${reason}`);
        if (reads) statuses.push(`reads ${reads.join(', ')}`);
      }
    },
    publisher: {
      publish: () => undefined,
      log: (_, { message, severity, persist }) =>
        void logs.push(`${severity}${persist ? '!' : ''}: ${message}`),
      respond: (_, text) => void responses.push(text),
    },
  });
  const fails = (message = 'boom', reason: 'error' | 'syntax' = 'error'): void =>
    starts.at(-1)?.events.onEvent({ kind: 'failed', reason, message });
  const runs = (): void => starts.at(-1)?.events.onEvent({ kind: 'running' });
  return {
    clock,
    lifecycle,
    starts,
    statuses,
    logs,
    responses,
    verdicts,
    read,
    contents,
    assignment,
    fails,
    runs,
  };
}

function startCommand(id: string): GivenCommand {
  return { id, name: 'start', argumentsText: '{}', waitedMs: 0 };
}

describe('a device on a module', () => {
  test('a device on a module does not start without its content or its configuration', () => {
    const { lifecycle, starts, contents } = setUp();
    lifecycle.tryStart();
    assert.equal(starts.length, 0);
    const script = contents.get(hashOf('a')) ?? assert.fail();
    contents.delete(hashOf('a'));
    lifecycle.configure({}, []);
    assert.equal(starts.length, 0);
    contents.set(hashOf('a'), script);
    lifecycle.tryStart();
    lifecycle.tryStart();
    assert.equal(starts.length, 1);
  });

  test('a device on a module fails by name when the facts about its blueprint are invalid', () => {
    const { lifecycle, contents, statuses } = setUp();
    contents.set(hashOf('f'), Buffer.from('{}'));
    lifecycle.configure({}, []);
    assert.deepEqual(statuses, ['failed: the facts about the blueprint cannot be read']);
  });

  test('a device on a module refuses commands and accepts configurations while its script does not run', () => {
    const { lifecycle, responses, verdicts, read, starts } = setUp();
    lifecycle.command(startCommand('x'));
    assert.deepEqual(responses, ['{"id":"x","state":"error","payload":{"message":"script is not running"}}']);
    lifecycle.configure({}, []);
    const about = { id: 'q', channel_id: 'c', group: 'group' };
    lifecycle.ask({ type: 'configuration_check', values: {}, ...about });
    lifecycle.ask({ type: 'configuration_read', ...about });
    assert.deepEqual(verdicts, [undefined]);
    assert.deepEqual(read, [undefined]);
    assert.deepEqual(starts[0]?.posted, []);
  });

  test('a device on a module answers the commands that its script leaves open, however it ends', () => {
    const { lifecycle, starts, responses, fails } = setUp();
    const left = (id: string): string =>
      `{"id":"${id}","state":"error","payload":{"message":"the script ended before the command did"}}`;
    lifecycle.configure({}, []);
    const say = starts[0]?.events.onEvent ?? assert.fail();
    for (const id of ['a', 'b', 'c']) lifecycle.command(startCommand(id));
    say({ kind: 'response', id: 'a', isLast: true, text: 'a is done' });
    say({ kind: 'response', id: 'b', isLast: false, text: 'b goes on' });
    lifecycle.restart();
    assert.deepEqual(responses.splice(0), ['a is done', 'b goes on', left('b'), left('c')]);
    lifecycle.command(startCommand('d'));
    starts[1]?.events.onThreadLost('neighbour', 'a script beside it was stuck');
    lifecycle.command(startCommand('e'));
    fails();
    assert.deepEqual(responses.splice(0), [left('d'), left('e')]);
    lifecycle.stop();
    assert.deepEqual(responses, []);
  });

  test('a device on a module reports which groups its script reads itself, as long as that script runs', () => {
    const { lifecycle, starts, statuses, runs, read } = setUp();
    lifecycle.configure({}, []);
    const say = starts[0]?.events.onEvent ?? assert.fail();
    say({ kind: 'reads', groups: ['a'] });
    runs();
    say({ kind: 'reads', groups: ['a', 'b'] });
    const question = { type: 'configuration_read', id: 'q', channel_id: 'c', group: 'a' } as const;
    lifecycle.ask(question);
    assert.deepEqual(starts[0]?.posted, [{ kind: 'question', question }]);
    say({ kind: 'answer', answer: { type: 'configuration_values', id: 'q', values: { x: 1 } } });
    assert.deepEqual(read, [{ x: 1 }]);
    lifecycle.restart();
    assert.deepEqual(statuses, ['starting', 'running', 'reads a', 'running', 'reads a, b', 'starting']);
  });

  test('a device on a module is started again after pauses that double to their maximum, and begin anew after a good run', async () => {
    const { lifecycle, clock, starts, fails, runs } = setUp();
    lifecycle.configure({}, []);
    const pausesMs: number[] = [];
    const nextStart = async (): Promise<number> => {
      const before = starts.length;
      let waitedMs = 0;
      while (starts.length === before) {
        await clock.advance(1_000);
        waitedMs += 1_000;
      }
      return waitedMs;
    };
    for (let count = 0; count < 7; count += 1) {
      fails();
      pausesMs.push(await nextStart());
    }
    assert.deepEqual(pausesMs, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    runs();
    await clock.advance(MODULE.retryMaxMs);
    fails();
    assert.equal(await nextStart(), MODULE.retryFirstMs);
  });

  test('a device on a module is started again at once after a failure when its configuration changes, and only then', () => {
    const { lifecycle, starts, fails } = setUp();
    lifecycle.configure({ connection: {} }, []);
    fails();
    lifecycle.configure({ connection: {} }, []);
    assert.equal(starts.length, 1);
    lifecycle.configure({ connection: { address: 'tcp://10.0.0.7' } }, ['connection']);
    assert.deepEqual(starts[1]?.groups, { connection: { address: 'tcp://10.0.0.7' } });
    fails('main.lua:1: unexpected symbol', 'syntax');
    lifecycle.configure({ connection: {} }, ['connection']);
    assert.equal(starts.length, 2);
  });

  test('a device on a module waits for another script after a syntax error', async () => {
    const { lifecycle, clock, starts, fails, assignment, statuses } = setUp();
    lifecycle.configure({}, []);
    fails('main.lua:1: unexpected symbol', 'syntax');
    await clock.advance(3_600_000);
    assert.equal(starts.length, 1);
    lifecycle.assign(assignment('a'));
    assert.equal(starts.length, 1);
    lifecycle.assign(assignment('b'));
    lifecycle.configure({}, []);
    assert.equal(starts.length, 2);
    assert.deepEqual(statuses, ['starting', 'failed: main.lua:1: unexpected symbol', 'starting']);
  });

  test('a device on a module starts another script with the configuration that came after it, never with an earlier one', () => {
    const { lifecycle, starts, assignment } = setUp();
    lifecycle.configure({ former: { x: 1 } }, []);
    lifecycle.assign(assignment('b'));
    lifecycle.tryStart();
    assert.equal(starts[0]?.isStopped, true);
    assert.equal(starts.length, 1);
    lifecycle.configure({ own: { y: 2 } }, []);
    assert.deepEqual(starts[1]?.groups, { own: { y: 2 } });
  });

  test('a device on a module starts again once for another blueprint of the same content, and not for a repeated one', () => {
    const { lifecycle, starts, assignment } = setUp();
    lifecycle.configure({}, []);
    const told: [string | undefined, number][] = [
      // The gateway was updated to one that says it.
      ['x', 1],
      ['x', 1],
      ['y', 2],
      ['y', 2],
      [undefined, 2],
      ['y', 2],
    ];
    for (const [blueprintId, expected] of told) {
      lifecycle.assign(assignment('a', blueprintId));
      lifecycle.configure({}, []);
      lifecycle.tryStart();
      assert.equal(starts.length, expected);
    }
  });

  test('a device on a module starts again once for each assignment of its blueprint, also for one that it missed', () => {
    const { lifecycle, starts, assignment } = setUp();
    lifecycle.configure({}, []);
    const assign = (count: number | undefined): void => {
      lifecycle.assign(assignment('a', 'x', count));
      lifecycle.configure({}, []);
      lifecycle.tryStart();
    };
    const told: [hear: () => void, expected: number][] = [
      [() => assign(undefined), 1],
      // The gateway was updated to one that counts.
      [() => assign(4), 1],
      [() => assign(4), 1],
      // While it was away.
      [() => assign(6), 2],
      [() => assign(6), 2],
      // While it was there.
      [() => lifecycle.restart(7), 3],
      [() => assign(7), 3],
      // Somebody has restarted the module.
      [() => lifecycle.restart(), 4],
      [() => assign(7), 4],
      // A state of before was restored.
      [() => assign(2), 5],
      [() => assign(undefined), 5],
    ];
    for (const [hear, expected] of told) {
      hear();
      assert.equal(starts.length, expected);
    }
  });

  test('a device on a module cuts a reason that is longer than a status may carry', () => {
    const { lifecycle, fails, statuses } = setUp();
    lifecycle.configure({}, []);
    fails('x'.repeat(MODULE.reasonBytes + 1));
    assert.equal(statuses.at(-1), `failed: ${'x'.repeat(MODULE.reasonBytes)}`);
  });

  test('a device on a module gets a thread of its own after it was stuck, until it has another script', async () => {
    const { lifecycle, clock, starts, assignment, logs } = setUp();
    lifecycle.configure({}, []);
    starts[0]?.events.onThreadLost('itself', 'execution time exceeded');
    assert.deepEqual(logs, ['error!: execution time exceeded']);
    await clock.advance(MODULE.retryFirstMs);
    lifecycle.assign(assignment('b'));
    lifecycle.configure({}, []);
    assert.deepEqual(
      starts.map(({ isAlone }) => isAlone),
      [false, true, false],
    );
  });

  test('a device on a module pauses when its thread ended for an unknown reason, and shares one again', async () => {
    const { lifecycle, clock, starts, statuses } = setUp();
    lifecycle.configure({}, []);
    starts[0]?.events.onThreadLost('unknown', 'its thread ended: out of memory');
    assert.deepEqual(statuses, ['starting', 'failed: its thread ended: out of memory']);
    await clock.advance(MODULE.retryFirstMs);
    assert.deepEqual(
      starts.map(({ isAlone }) => isAlone),
      [false, false],
    );
  });

  test('a device on a module whose neighbour was stuck is restarted at once, and says so', () => {
    const { lifecycle, starts, logs, runs, statuses } = setUp();
    lifecycle.configure({}, []);
    runs();
    starts[0]?.events.onThreadLost('neighbour', 'a script beside it was stuck');
    assert.equal(starts.length, 2);
    assert.deepEqual(logs, ['warning: restarted: a script beside it was stuck']);
    assert.deepEqual(statuses, ['starting', 'running', 'starting']);
  });

  test('a device on a module is notified of groups that changed or were written, and of nothing else', () => {
    const { lifecycle, starts } = setUp();
    lifecycle.configure({ a: { x: 1, y: 2 }, b: { x: 1 } }, []);
    const { posted } = starts[0] ?? assert.fail();
    lifecycle.configure({ a: { y: 2, x: 1 }, b: { x: 1 } }, []);
    assert.deepEqual(posted, []);
    lifecycle.configure({ a: { y: 2, x: 1 }, b: { x: 1 } }, ['b', 'gone']);
    lifecycle.configure({ a: { x: 2, y: 2 }, b: { x: 1 } }, []);
    assert.deepEqual(
      posted.map((message) => (message as { changed: string[] }).changed),
      [['b'], ['a']],
    );
  });

  test('a device on a module starts with the newest configuration after a restart, and ends when it is stopped', () => {
    const { lifecycle, starts, statuses, runs } = setUp();
    lifecycle.configure({ a: { x: 1 } }, []);
    runs();
    lifecycle.configure({ a: { x: 2 } }, []);
    lifecycle.restart();
    assert.equal(starts[0]?.isStopped, true);
    assert.deepEqual(starts[1]?.groups, { a: { x: 2 } });
    lifecycle.stop();
    assert.equal(starts[1]?.isStopped, true);
    assert.equal(statuses.at(-1), 'stopped');
  });
});
