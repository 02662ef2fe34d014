import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { connectToParent } from '../../../src/platform/processes/index.ts';
import { until } from '../../support/until.ts';
import { PROJECT_ROOT } from '../../support/workspace.ts';
import { CHILDREN, isAlive, limits, world } from './support.ts';

describe('a child program', () => {
  test('a child program that cannot be found is started again later, and its output is in the log', async (t) => {
    const { program, ends, lines } = world(t, { entry: '/nonexistent/main.ts' });
    program.start();
    await ends();
    assert.equal(program.lastExit?.reason, 'exit code 1');
    assert.match(String(lines[0]?.['error_output']), /Cannot find module/);
  });

  test('a child program is ended when it says nothing', async (t) => {
    const { clock, program, ends } = world(t, { entry: join(CHILDREN, 'silent.ts') });
    program.start();
    await clock.advance(limits.helloMs);
    await ends();
    assert.deepEqual([program.lastExit?.reason, program.lastExit?.ranMs], ['no hello', 0]);
  });

  test('a child program is refused when it speaks another version', async (t) => {
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
    test(`a child program told to ${order} ends with the reason: ${reason}`, async (t) => {
      const { program, runs, ends, metric } = world(t);
      program.start();
      await runs();
      program.send(order);
      await ends();
      assert.equal(program.lastExit?.reason, reason);
      assert.deepEqual([await metric('program_ends_total'), await metric('program_running')], [1, 0]);
    });

  test('a child program leaves its stack in the log of the gateway when it throws', async (t) => {
    const { program, runs, ends, lines } = world(t);
    program.start();
    await runs();
    program.send('fail over and out');
    await ends();
    const line = lines.find(({ message }) => message === 'program ended, will be started again');
    assert.match(String(line?.['error_output']), /Error: over and out\n.*obedient\.ts/s);
  });

  test('a child program runs on while it answers its heartbeats, and once stuck is ended after the missed ones', async (t) => {
    const { clock, program, runs, answered, ends } = world(t);
    program.start();
    await runs();
    for (let count = 1; count <= 8; count++) {
      await clock.advance(limits.heartbeatIntervalMs);
      await answered();
    }
    assert.equal(program.state, 'running');
    program.send('stick');
    await clock.advance(limits.heartbeatIntervalMs * limits.missedHeartbeats);
    assert.equal(program.state, 'running');
    await clock.advance(limits.heartbeatIntervalMs);
    await ends();
    assert.equal(program.lastExit?.reason, 'heartbeat missed');
  });

  test('a child program is started again after pauses that double, and anew after a stable run', async (t) => {
    const { clock, program, runs, answered, ends, lines, hellos } = world(t);
    program.start();
    for (let run = 0; run < 3; run++) {
      await runs();
      program.send('exit 1');
      await ends();
      await clock.advance(limits.restartFirstMs * 2 ** run - 1);
      assert.equal(program.state, 'waiting');
      await clock.advance(1);
      assert.notEqual(program.state, 'waiting');
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

  test('a child program waits no longer than the longest pause for its restart', async (t) => {
    const tight = { ...limits, restartFirstMs: 1, restartMaxMs: 3 };
    const { clock, program, ends, lines } = world(t, { entry: '/nonexistent/main.ts' }, tight);
    program.start();
    for (const pauseMs of [1, 2, 3, 3]) {
      await ends();
      assert.equal(lines.at(-1)?.['pause_ms'], pauseMs);
      await clock.advance(pauseMs);
    }
  });

  test('a child program gets its settings and nothing of the environment', async (t) => {
    const { program, received, runs } = world(t);
    program.start();
    await runs();
    program.send('settings');
    program.send('environment');
    await until(() => received.length === 2);
    assert.deepEqual(received, ['{"colour":"green"}', 'MALLOC_ARENA_MAX']);
  });

  for (const signal of ['SIGCONT', 'SIGSTOP'] as const)
    test(`a child program ends when its parent is killed, ${signal === 'SIGSTOP' ? 'also when it stands still' : 'at once'}`, async (t) => {
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

  test('a child program is tried again when the system has no room for it, and the owner lives on', async (t) => {
    // Longer than the system takes: the call that starts it throws.
    const { program, lines, clock } = world(t, { nodeOptions: [`--title=${'x'.repeat(200_000)}`] });
    program.start();
    await until(() => program.state === 'waiting');
    assert.match(program.lastExit?.reason ?? '', /^cannot be started: .*E2BIG/);
    await clock.advance(limits.restartFirstMs);
    await until(() => lines.filter(({ level }) => level === 'warn').length === 2);
  });

  test('a child program is started again when its owner cannot give its settings, or fails when it runs or ends', async (t) => {
    let [asked, told] = [0, 0];
    const fail = (): never => {
      told++;
      throw new Error('the disk fails now');
    };
    const settings = (): object => (asked++ === 0 ? fail() : {});
    const { program, clock, runs, ends } = world(t, { settings, onRunning: fail, onEnded: fail });
    program.start();
    await until(() => program.state === 'waiting' && clock.waiting > 0);
    assert.equal(program.lastExit?.reason, 'cannot be started: the disk fails now');
    await clock.advance(limits.restartFirstMs);
    await runs();
    program.send('exit 3');
    await ends();
    assert.equal(told, 4);
  });
});

describe('the channel to a child program', () => {
  test('the channel to a child program drops and counts what is sent while it does not run', async (t) => {
    const { program, metric } = world(t);
    assert.equal(program.send('echo lost'), false);
    assert.equal(await metric('program_dropped_total'), 1);
  });

  test('the channel to a child program drops and counts a message that is too large, in both directions', async (t) => {
    const { program, received, runs, metric } = world(t);
    program.start();
    await runs();
    assert.equal(program.send('x'.repeat(limits.messageBytes + 1)), false);
    assert.equal(await metric('program_dropped_total'), 1);
    program.send(`large ${LIMITS.processes.messageBytes + 1}`);
    await until(() => received.length === 1);
    assert.deepEqual(received, ['false 1']);
  });

  test('the channel to a child program drops what the child does not read, within its bound, and recovers', async (t) => {
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

  test('the channel to a child program has room again when the child has read', async (t) => {
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

  test('the channel to a child program carries text and bytes unchanged and in order, also just before a stop', async (t) => {
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
    const words = Array.from({ length: 20 }, (_, index) => `word ${index}`);
    for (const word of words) program.send(`echo ${word}`);
    await program.stop();
    assert.deepEqual(received.slice(3), words);
  });

  test('the channel to a child program survives an owner that throws', async (t) => {
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
  for (const [options, path] of [
    [[], 'src/scripting/rule-sandbox/main.ts'],
    [['--conditions=bundled'], 'dist/scripting/rule-sandbox/main.js'],
  ] as const)
    test(`the entry of a program is ${path} when sources run with ${JSON.stringify(options)}`, () => {
      const module = join(PROJECT_ROOT, 'src/platform/processes/index.ts');
      const script = `import { programEntry } from ${JSON.stringify(module)};
        process.stdout.write(programEntry('scripting/rule-sandbox/main'));`;
      const { stdout } = spawnSync(process.execPath, [...options, '--input-type=module', '--eval', script], {
        encoding: 'utf8',
      });
      assert.equal(stdout, join(PROJECT_ROOT, path));
      assert.ok(existsSync(stdout));
    });

  test('a child program started by hand says so', () => {
    const port = { on: process.on.bind(process), connected: false };
    assert.throws(
      () => connectToParent({ port, protocolVersion: 1, onPayload: () => undefined }),
      /started by the gateway/,
    );
  });
});
