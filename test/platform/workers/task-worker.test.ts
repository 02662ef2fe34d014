import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { GatewayError } from '../../../src/lib/errors.ts';
import { inWords } from '../../../src/lib/system-fault.ts';
import { TaskWorker, TaskFailure } from '../../../src/platform/workers/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

interface Input {
  kind: string;
  value?: unknown;
}

function start(
  test: Pick<TestContext, 'after'>,
  options: { timeoutMs?: number; countsProcessorTime?: boolean } = {},
): { worker: TaskWorker<Input, unknown>; clock: TestClock } {
  const clock = new TestClock();
  const worker = new TaskWorker<Input, unknown>({
    entry: join(import.meta.dirname, 'entry.ts'),
    timeoutMs: 5_000,
    heapBytes: 32 * 1_048_576,
    waiting: 2,
    idleMs: 10_000,
    ...options,
    clock,
    log: recordingLog(clock).log,
  });
  test.after(() => worker.stop());
  return { worker, clock };
}

/** A thread that has begun has taken some processor time by then. */
const ENOUGH_MS = 300;

const failsWith = (reason: TaskFailure['reason'], message: RegExp) => (error: unknown) =>
  error instanceof TaskFailure && error.reason === reason && message.test(error.message);

test('a task beyond the waiting ones is refused', async (t) => {
  const { worker } = start(t);
  const tasks = [1, 2, 3].map((value) => worker.run({ kind: 'echo', value }));
  await assert.rejects(
    worker.run({ kind: 'echo' }),
    (error) => error instanceof GatewayError && error.code === 'unavailable' && error.retryAfterS === 5,
  );
  assert.deepEqual(await Promise.all(tasks), [1, 2, 3]);
});

test('a task that the system refuses fails with the reason of the system', async (t) => {
  const { worker } = start(t);
  await assert.rejects(worker.run({ kind: 'refused' }), (error) => {
    assert.ok(failsWith('failed', /^the work failed$/)(error));
    return /as many files and connections open as it may/.test(inWords(error));
  });
  await assert.rejects(worker.run({ kind: 'fail' }), (error) => inWords(error) === 'as asked');
});

test('a task that cannot be handed to the thread fails at once, and the next one is done', async (t) => {
  const { worker } = start(t);
  const refused = worker.run({ kind: 'echo', value: () => 1 });
  const next = worker.run({ kind: 'echo', value: 2 });
  await assert.rejects(refused, failsWith('crashed', /could not be cloned/));
  assert.equal(await next, 2);
});

test('tasks of low priority wait behind all others, in a queue of their own', async (t) => {
  const { worker } = start(t);
  const order: string[] = [];
  const run = async (value: string, givesWay: boolean): Promise<void> => {
    await worker.run({ kind: 'echo', value }, { givesWay });
    order.push(value);
  };
  const judged = ['first', 'second', 'third'].map((value) => run(value, true));
  await assert.rejects(run('fourth', true), { code: 'unavailable' });
  await Promise.all([...judged, run('upload', false)]);
  assert.deepEqual(order, ['first', 'upload', 'second', 'third']);
});

test('a task may have a shorter time than others, and says how long it kept the thread', async (t) => {
  const { worker, clock } = start(t);
  const workMs: number[] = [];
  const onWork = (durationMs: number): void => void workMs.push(durationMs);
  const refused = assert.rejects(
    worker.run({ kind: 'stand' }, { timeoutMs: 1_000, onWork }),
    failsWith('timeout', /^took longer than 1 s$/),
  );
  await clock.advance(1_000);
  await refused;
  assert.deepEqual(workMs, [1_000]);
});

test('a task that counts processor time ends when it has taken that', async (t) => {
  const { worker, clock } = start(t, { timeoutMs: 1, countsProcessorTime: true });
  const workMs: number[] = [];
  const begunMs = performance.now();
  const refused = assert.rejects(
    worker.run({ kind: 'loop' }, { onWork: (durationMs) => void workMs.push(durationMs) }),
    failsWith('timeout', /^took longer than 0\.001 s of processor time$/),
  );
  await until(() => performance.now() - begunMs > ENOUGH_MS);
  await clock.advance(1);
  await refused;
  assert.ok((workMs[0] ?? 0) >= 1);
});

test('a task that gets no processor time in twice its time is no fault of its input', async (t) => {
  const { worker, clock } = start(t, { countsProcessorTime: true });
  const workMs: number[] = [];
  const onWork = (durationMs: number): void => void workMs.push(durationMs);
  assert.equal(await worker.run({ kind: 'echo', value: 1 }), 1);
  const refused = assert.rejects(
    worker.run({ kind: 'stand' }, { timeoutMs: 60_000, onWork }),
    (error) =>
      error instanceof GatewayError &&
      error.code === 'unavailable' &&
      error.retryAfterS === 60 &&
      error.message.startsWith('The processor of the gateway is busy'),
  );
  const passing = setInterval(() => void clock.advance(60_000), 50);
  t.after(() => clearInterval(passing));
  await refused;
  assert.ok((workMs[0] ?? 60_000) < 60_000);
});

test('a task that fails says why, and the thread goes on', async (t) => {
  const { worker } = start(t);
  await assert.rejects(worker.run({ kind: 'fail' }), failsWith('failed', /^as asked$/));
  assert.equal(await worker.run({ kind: 'echo', value: 'x' }), 'x');
});

test('a task that takes too long ends with its thread; those behind it run in a new one', async (t) => {
  const { worker, clock } = start(t);
  const looping = worker.run({ kind: 'loop' });
  const behind = worker.run({ kind: 'echo', value: 'behind' });
  const refused = assert.rejects(looping, failsWith('timeout', /^took longer than 5 s$/));
  await clock.advance(5_000);
  await refused;
  assert.equal(await behind, 'behind');
});

test('a task that takes too much memory ends with its thread', async (t) => {
  const { worker } = start(t);
  await assert.rejects(worker.run({ kind: 'fill' }), failsWith('out_of_memory', /^took more than 32 MiB/));
  assert.equal(await worker.run({ kind: 'echo', value: 'next' }), 'next');
});

test('a thread that crashes fails its task only', async (t) => {
  const { worker } = start(t);
  await assert.rejects(worker.run({ kind: 'crash' }), failsWith('crashed', /^boom$/));
  assert.equal(await worker.run({ kind: 'echo', value: 'next' }), 'next');
});

test('an answer that cannot be read fails its task at once', async (t) => {
  const { worker } = start(t);
  await assert.rejects(
    worker.run({ kind: 'nest', value: 5_000 }),
    failsWith('crashed', /call stack size exceeded/),
  );
  assert.equal(await worker.run({ kind: 'echo', value: 'next' }), 'next');
});

test('an idle thread ends, and a later task gets a new one', async (t) => {
  const { worker, clock } = start(t);
  assert.equal(await worker.run({ kind: 'echo', value: 1 }), 1);
  assert.equal(clock.waiting, 1);
  await clock.advance(10_000);
  assert.equal(clock.waiting, 0);
  assert.equal(await worker.run({ kind: 'echo', value: 2 }), 2);
});

test('stopping fails the present task, and later ones start no thread', async (t) => {
  const { worker } = start(t);
  const standing = assert.rejects(worker.run({ kind: 'stand' }), failsWith('stopped', /stopped/));
  const waiting = assert.rejects(worker.run({ kind: 'echo' }), failsWith('stopped', /stopped/));
  await worker.stop();
  await Promise.all([standing, waiting]);
  await assert.rejects(worker.run({ kind: 'echo' }), failsWith('stopped', /stopped/));
});

test('a thread ended while it loads a native library does not end the process', async () => {
  const program = join(import.meta.dirname, '../../support/children/ended-while-loading.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=bundled', program]);
  assert.equal(stdout, 'every thread has ended');
});
