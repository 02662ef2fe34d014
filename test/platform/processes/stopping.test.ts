/** Ending child programs, whatever they do, and what they may do while they live. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { type Payload, Processes, type ProgramRights } from '../../../src/platform/processes/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { PROJECT_ROOT, recordingLog } from '../../support/workspace.ts';
import { CHILDREN, isAlive, limits, world } from './support.ts';

describe('stopping a child program', () => {
  test('stopping a child program kills it when it does not end in time', async (t) => {
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

  test('stopping a child program ends one that stands still, all of them at the same time', async () => {
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

  test('stopping a child program ends what it has started, too, and does not wait for whoever holds its pipes', async (t) => {
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

  test('stopping a child program is cancelled by a start meanwhile', async (t) => {
    const { program, runs, hellos } = world(t);
    program.start();
    await runs();
    const stopped = program.stop();
    program.start();
    await stopped;
    await runs();
    assert.equal(hellos(), 2);
  });

  test('stopping a child program does not shorten the pause after a crash', async (t) => {
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

  test('stopping a child program waits some time, and is cancelled when it is needed again', async (t) => {
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

  test('stopping a child program lets it end by itself, and does not start it again', async (t) => {
    const { clock, program, runs, metric, hellos } = world(t);
    program.start();
    await runs();
    await program.stop();
    assert.equal(program.lastExit?.reason, 'stopped');
    await clock.advance(limits.restartMaxMs);
    assert.deepEqual([program.state, hellos(), clock.waiting], ['stopped', 1, 0]);
    assert.equal(await metric('program_ends_total'), 0);
  });

  test('stopping a child program before its hello works too, and twice does no harm', async (t) => {
    const { program } = world(t);
    program.start();
    await Promise.all([program.stop(), program.stop()]);
    assert.equal(program.state, 'stopped');
  });

  test('stopping a child program ends the pause before a new start', async (t) => {
    const { clock, program, runs, ends } = world(t);
    program.start();
    await runs();
    program.send('exit 1');
    await ends();
    await program.stop();
    assert.deepEqual([program.state, clock.waiting], ['stopped', 0]);
  });

  test('stopping a child program allows a new start', async (t) => {
    const { program, runs, hellos } = world(t);
    program.start();
    await runs();
    await program.stop();
    program.start();
    await runs();
    assert.equal(hellos(), 2);
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

  test('a child program has no rights by default: no file of others, no network, no program, no native code', async (t) => {
    const { program, runs, tell, file } = childWith(t);
    program.start();
    await runs();
    for (const order of [`read ${file}`, `write ${file}`, 'run /bin/true', 'listen', 'native'])
      assert.equal(await tell(order), 'ERR_ACCESS_DENIED', order);
    assert.equal(await tell(`read ${join(PROJECT_ROOT, 'src/lib/limits.ts')}`), 'done');
  });

  test('a child program has fewer rights in its threads, which can start no other thread to regain them', async (t) => {
    const { program, runs, tell, file } = childWith(t);
    program.start();
    await runs();
    assert.equal(await tell(`thread ${file}`), 'ERR_ACCESS_DENIED ERR_ACCESS_DENIED ERR_ACCESS_DENIED');
    // The main thread goes on starting threads.
    assert.equal(await tell(`thread ${file}`), 'ERR_ACCESS_DENIED ERR_ACCESS_DENIED ERR_ACCESS_DENIED');
  });

  test('a child program has the rights it was given', async (t) => {
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
