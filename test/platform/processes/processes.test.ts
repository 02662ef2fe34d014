import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { type Limits, LIMITS } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import {
  connectToParent,
  Processes,
  type Payload,
  programEntry,
  type ProgramOptions,
  type ProgramRights,
} from '../../../src/platform/processes/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { PROJECT_ROOT, recordingLog } from '../../support/workspace.ts';

const CHILDREN = join(PROJECT_ROOT, 'test/support/children');
const limits: Limits['processes'] = {
  ...LIMITS.processes,
  messageBytes: 1_000_000,
  queuedBytes: 4_000_000,
};

function world(t: TestContext, options: Partial<ProgramOptions> = {}, bounds: Limits['processes'] = limits) {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const metrics = createMetrics();
  const received: Payload[] = [];
  let hellos = 0;
  const program = new Processes({ clock, log, metrics, limits: bounds }).program({
    name: 'obedient',
    entry: join(CHILDREN, 'obedient.ts'),
    protocolVersion: 1,
    settings: () => ({ colour: 'green' }),
    onRunning: () => hellos++,
    onPayload: (payload) => received.push(payload),
    ...options,
  });
  t.after(async () => {
    const stopped = program.stop();
    await clock.advance(limits.stopMs);
    await clock.advance(limits.termMs);
    await stopped;
  });
  const runs = (): Promise<void> => until(() => program.state === 'running');
  /** Messages keep their order: when the echo is here, so are the answers before it. */
  const answered = async (): Promise<void> => {
    const count = received.length + 1;
    program.send('echo here');
    await until(() => received.length === count);
  };
  const ends = (): Promise<void> => until(() => program.state === 'waiting');
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^gateway_${name}{program="obedient"} (.*)$`, 'm').exec(await metrics.text())?.[1]);
  return { clock, lines, program, received, runs, answered, ends, metric, hellos: () => hellos };
}

describe('a child program', () => {
  test('that cannot be found is tried again, with what it wrote in the log', async (t) => {
    const { program, ends, lines } = world(t, { entry: '/nonexistent/main.ts' });
    program.start();
    await ends();
    assert.equal(program.lastExit?.reason, 'exit code 1');
    assert.match(String(lines[0]?.['error_output']), /Cannot find module/);
  });

  test('that says nothing is ended', async (t) => {
    const { clock, program, ends } = world(t, { entry: join(CHILDREN, 'silent.ts') });
    program.start();
    await clock.advance(limits.helloMs);
    await ends();
    assert.deepEqual([program.lastExit?.reason, program.lastExit?.ranMs], ['no hello', 0]);
  });

  test('that speaks another version is refused', async (t) => {
    const { program, ends, hellos } = world(t, { protocolVersion: 2 });
    program.start();
    await ends();
    assert.equal(program.lastExit?.reason, 'speaks protocol version 1, not 2');
    assert.equal(hellos(), 0);
  });

  for (const [order, reason] of [
    ['babble', 'sent something that is no message'],
    ['greet', 'sent something that is no message'],
    ['exit 3', 'exit code 3'],
    ['abort', 'signal SIGSEGV'],
  ] as const)
    test(`told to ${order} ends with the reason: ${reason}`, async (t) => {
      const { program, runs, ends, metric } = world(t);
      program.start();
      await runs();
      program.send(order);
      await ends();
      assert.equal(program.lastExit?.reason, reason);
      assert.deepEqual([await metric('program_ends_total'), await metric('program_running')], [1, 0]);
    });

  test('that throws leaves its stack in the log of the gateway', async (t) => {
    const { program, runs, ends, lines } = world(t);
    program.start();
    await runs();
    program.send('fail over and out');
    await ends();
    const line = lines.find(({ message }) => message === 'program ended, will be started again');
    assert.match(String(line?.['error_output']), /Error: over and out\n.*obedient\.ts/s);
  });

  test('that is stuck is ended after the missed heartbeats, not before', async (t) => {
    const { clock, program, runs, ends } = world(t);
    program.start();
    await runs();
    program.send('stick');
    await clock.advance(limits.heartbeatIntervalMs * limits.missedHeartbeats);
    assert.equal(program.state, 'running');
    await clock.advance(limits.heartbeatIntervalMs);
    await ends();
    assert.equal(program.lastExit?.reason, 'heartbeat missed');
  });

  test('that answers its heartbeats runs on', async (t) => {
    const { clock, program, runs, answered } = world(t);
    program.start();
    await runs();
    for (let count = 1; count <= 8; count++) {
      await clock.advance(limits.heartbeatIntervalMs);
      await answered();
    }
    assert.equal(program.state, 'running');
  });

  test('is started again after pauses that double, and anew after a stable run', async (t) => {
    const { clock, program, runs, answered, ends, lines, hellos } = world(t);
    program.start();
    for (let run = 0; run < 3; run++) {
      await runs();
      program.send('exit 1');
      await ends();
      await clock.advance(limits.restartFirstMs * 2 ** run - 1);
      assert.equal(program.state, 'waiting');
      await clock.advance(1);
      assert.equal(program.state, 'starting');
    }
    await runs();
    const processId = program.processId;
    for (let passedMs = 0; passedMs < limits.stableMs; passedMs += limits.heartbeatIntervalMs) {
      await clock.advance(limits.heartbeatIntervalMs);
      await answered();
    }
    assert.equal(program.processId, processId);
    program.send('exit 1');
    await ends();
    assert.deepEqual(
      lines.filter(({ level }) => level === 'warn').map((line) => line['pause_ms']),
      [500, 1_000, 2_000, 500],
    );
    assert.equal(hellos(), 4);
  });

  test('waits no longer than the longest pause', async (t) => {
    const tight = { ...limits, restartFirstMs: 1, restartMaxMs: 3 };
    const { clock, program, ends, lines } = world(t, { entry: '/nonexistent/main.ts' }, tight);
    program.start();
    for (const pauseMs of [1, 2, 3, 3]) {
      await ends();
      assert.equal(lines.at(-1)?.['pause_ms'], pauseMs);
      await clock.advance(pauseMs);
    }
  });

  test('knows its settings and nothing of the environment', async (t) => {
    const { program, received, runs } = world(t);
    program.start();
    await runs();
    program.send('settings');
    program.send('environment');
    await until(() => received.length === 2);
    assert.deepEqual(received, ['{"colour":"green"}', 'MALLOC_ARENA_MAX']);
  });

  for (const signal of ['SIGCONT', 'SIGSTOP'] as const)
    test(`ends when its parent is killed, ${signal === 'SIGSTOP' ? 'also when it stands still' : 'at once'}`, async (t) => {
      const parent = spawn(process.execPath, [join(CHILDREN, 'orphan-maker.ts')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      t.after(() => parent.kill('SIGKILL'));
      const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string];
      const childId = Number(line);
      process.kill(childId, signal);
      assert.ok(isAlive(childId));
      parent.kill('SIGKILL');
      await until(() => !isAlive(childId));
    });

  test('that the system has no room for is tried again, and the owner lives on', async (t) => {
    // Longer than the system takes: the call that starts it throws.
    const { program, lines, clock } = world(t, { nodeOptions: [`--title=${'x'.repeat(200_000)}`] });
    program.start();
    await until(() => program.state === 'waiting');
    assert.match(program.lastExit?.reason ?? '', /^cannot be started: .*E2BIG/);
    await clock.advance(limits.restartFirstMs);
    await until(() => lines.filter(({ level }) => level === 'warn').length === 2);
  });
});

describe('the rights of a child program', () => {
  const childWith = (t: TestContext, rights?: ProgramRights) => {
    const folder = mkdtempSync(join(tmpdir(), 'rights-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'state.db');
    writeFileSync(file, 'precious');
    const child = world(t, { ...(rights && { rights }) });
    return {
      ...child,
      file,
      tell: async (order: string): Promise<Payload | undefined> => {
        child.program.send(order);
        const count = child.received.length + 1;
        await until(() => child.received.length === count);
        return child.received.at(-1);
      },
    };
  };

  test('are none: no file of others, no network, no program', async (t) => {
    const { program, runs, tell, file } = childWith(t);
    program.start();
    await runs();
    for (const order of [`read ${file}`, `write ${file}`, 'run /bin/true', 'listen'])
      assert.equal(await tell(order), 'ERR_ACCESS_DENIED', order);
    assert.equal(await tell(`read ${programEntry('lib/limits')}`), 'done');
  });

  test('are fewer in its threads, which can start no other thread to get them back', async (t) => {
    const { program, runs, tell, file } = childWith(t);
    program.start();
    await runs();
    assert.equal(await tell(`thread ${file}`), 'ERR_ACCESS_DENIED ERR_ACCESS_DENIED');
    // The main thread goes on starting threads.
    assert.equal(await tell(`thread ${file}`), 'ERR_ACCESS_DENIED ERR_ACCESS_DENIED');
  });

  test('are those it was given', async (t) => {
    const { program, runs, tell, file } = childWith(t, {
      network: true,
      deviceFiles: ['/dev/null'],
      systemPrograms: true,
    });
    program.start();
    await runs();
    for (const order of ['read /dev/null', 'write /dev/null', 'run /bin/true', 'listen'])
      assert.equal(await tell(order), 'done', order);
    assert.equal(await tell(`read ${file}`), 'ERR_ACCESS_DENIED');
  });
});

describe('stopping a child program', () => {
  test('kills it when it does not end in time', async (t) => {
    const { clock, program, received, runs } = world(t);
    program.start();
    await runs();
    program.send('deafen');
    program.send('echo ready');
    await until(() => received.length === 1);
    const stopped = program.stop();
    await clock.advance(limits.stopMs);
    await clock.advance(limits.termMs - 1);
    assert.equal(program.state, 'stopping');
    await clock.advance(1);
    await stopped;
    assert.equal(program.lastExit?.reason, 'killed, because it did not stop within 2500 ms');
    assert.equal(program.state, 'stopped');
  });

  test('ends one that stands still, all of them at the same time', async () => {
    const clock = new TestClock();
    const processes = new Processes({
      clock,
      log: recordingLog(clock).log,
      metrics: createMetrics(),
      limits,
    });
    const programs = ['one', 'two', 'three'].map((name) =>
      processes.program({
        name,
        entry: join(CHILDREN, 'obedient.ts'),
        protocolVersion: 1,
        settings: () => ({}),
        onPayload: () => undefined,
      }),
    );
    for (const program of programs) program.start();
    await until(() => programs.every(({ state }) => state === 'running'));
    const ids = programs.map(({ processId = 0 }) => processId);
    for (const id of ids) process.kill(id, 'SIGSTOP');
    const stopped = processes.stop();
    await clock.advance(limits.stopMs);
    await clock.advance(limits.termMs);
    await stopped;
    assert.deepEqual(ids.filter(isAlive), []);
    assert.ok(programs.every(({ state }) => state === 'stopped'));
  });

  test('ends what it has started, too, and does not wait for whoever holds its pipes', async (t) => {
    const rights: ProgramRights = { network: false, deviceFiles: [], systemPrograms: true };
    const { program, received, runs } = world(t, { rights });
    program.start();
    await runs();
    program.send('breed');
    await until(() => received.length === 1);
    const grandchildId = Number(received[0]);
    assert.ok(isAlive(grandchildId));
    await program.stop();
    await until(() => !isAlive(grandchildId));
  });

  test('is taken back by a start meanwhile', async (t) => {
    const { program, runs, hellos } = world(t);
    program.start();
    await runs();
    const stopped = program.stop();
    program.start();
    await stopped;
    await runs();
    assert.equal(hellos(), 2);
  });

  test('does not shorten the pause after a crash', async (t) => {
    const { clock, program, runs, ends } = world(t);
    program.start();
    await runs();
    program.send('exit 1');
    await ends();
    await program.stop();
    program.start();
    await clock.advance(limits.restartFirstMs - 1);
    assert.equal(program.state, 'waiting');
    await clock.advance(1);
    await runs();
  });

  test('waits some time when nobody needs it for now, and forgets that when somebody does', async (t) => {
    const { clock, program, runs, answered } = world(t);
    program.start();
    await runs();
    program.release();
    const beats = async (durationMs: number): Promise<void> => {
      for (let passedMs = 0; passedMs < durationMs; passedMs += limits.heartbeatIntervalMs) {
        await clock.advance(Math.min(limits.heartbeatIntervalMs, durationMs - passedMs));
        await answered();
      }
    };
    await beats(limits.idleMs - 1);
    program.start();
    await beats(limits.idleMs);
    assert.equal(program.state, 'running');
    program.release();
    program.release();
    await beats(limits.idleMs - 1);
    await clock.advance(1);
    await until(() => program.state === 'stopped');
    assert.equal(program.lastExit?.reason, 'stopped');
  });

  test('lets it end by itself, and does not start it again', async (t) => {
    const { clock, program, runs, metric, hellos } = world(t);
    program.start();
    await runs();
    await program.stop();
    assert.equal(program.lastExit?.reason, 'stopped');
    await clock.advance(limits.restartMaxMs);
    assert.deepEqual([program.state, hellos(), clock.waiting], ['stopped', 1, 0]);
    assert.equal(await metric('program_ends_total'), Number.NaN);
  });

  test('before its hello works too, and twice does no harm', async (t) => {
    const { program } = world(t);
    program.start();
    await Promise.all([program.stop(), program.stop()]);
    assert.equal(program.state, 'stopped');
  });

  test('in the pause before a new start ends the pause', async (t) => {
    const { clock, program, runs, ends } = world(t);
    program.start();
    await runs();
    program.send('exit 1');
    await ends();
    await program.stop();
    assert.deepEqual([program.state, clock.waiting], ['stopped', 0]);
  });

  test('allows a new start', async (t) => {
    const { program, runs, hellos } = world(t);
    program.start();
    await runs();
    await program.stop();
    program.start();
    await runs();
    assert.equal(hellos(), 2);
  });
});

describe('the channel to a child program', () => {
  test('drops and counts what is sent while it does not run', async (t) => {
    const { program, metric } = world(t);
    assert.equal(program.send('echo lost'), false);
    assert.equal(await metric('program_dropped_total'), 1);
  });

  test('drops and counts a message that is too large, in both directions', async (t) => {
    const { program, received, runs, metric } = world(t);
    program.start();
    await runs();
    assert.equal(program.send('x'.repeat(limits.messageBytes + 1)), false);
    assert.equal(await metric('program_dropped_total'), 1);
    program.send(`large ${LIMITS.processes.messageBytes + 1}`);
    await until(() => received.length === 1);
    assert.deepEqual(received, ['false 1']);
  });

  test('drops what a child does not read, never more than its bound in flight, and goes on later', async (t) => {
    const { clock, program, runs, ends, metric } = world(t);
    program.start();
    await runs();
    program.send('stick');
    const message = `echo ${'x'.repeat(500_000)}`;
    let taken = 0;
    while (program.send(message)) taken++;
    // The operating system takes some on top of our bound.
    assert.ok(taken >= 7 && taken <= 16, `${taken} messages`);
    assert.ok((await metric('program_queued_bytes')) <= limits.queuedBytes);
    let drained = false;
    const waiting = program.drained().then(() => (drained = true));
    await clock.advance(1);
    assert.equal(drained, false);
    await clock.advance(limits.heartbeatIntervalMs * (limits.missedHeartbeats + 1));
    await ends();
    await waiting;
    assert.equal(await metric('program_queued_bytes'), 0);
  });

  test('has room again when the child has read', async (t) => {
    const { program, received, runs } = world(t);
    program.start();
    await runs();
    let sent = 0;
    for (let round = 0; round < 3; round++) {
      while (program.send(`echo ${'x'.repeat(500_000)}`)) sent++;
      await program.drained();
    }
    await until(() => received.length === sent);
    assert.ok(sent > 14);
  });

  test('carries text and bytes unchanged and in order', async (t) => {
    const { program, received, runs } = world(t);
    program.start();
    await runs();
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    program.send('echo ä\u0000\ud83d\ude00');
    program.send(bytes);
    program.send('echo last');
    await until(() => received.length === 3);
    assert.deepEqual([received[0], received[2]], ['ä\u0000\ud83d\ude00', 'last']);
    assert.deepEqual(Buffer.from(received[1] ?? ''), Buffer.from(bytes));
  });

  test('survives an owner that throws', async (t) => {
    let calls = 0;
    const onPayload = (): void => {
      calls++;
      throw new Error('owner');
    };
    const { program, runs, lines } = world(t, { onPayload });
    program.start();
    await runs();
    program.send('echo 1');
    program.send('echo 2');
    await until(() => calls === 2);
    assert.equal(program.state, 'running');
    assert.ok(lines.some(({ message }) => message === 'message of the program was not handled'));
  });
});

describe('the entry of a program', () => {
  test('is the source file while running from sources', () => {
    assert.equal(programEntry('lib/limits'), join(PROJECT_ROOT, 'src/lib/limits.ts'));
    assert.ok(existsSync(programEntry('lib/limits')));
  });

  test('says so when a child program is started by hand', () => {
    const port = { on: process.on.bind(process), connected: false };
    assert.throws(
      () => connectToParent({ port, protocolVersion: 1, onPayload: () => undefined }),
      /started by the gateway/,
    );
  });
});

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
