/** Log lines whose reader hangs: a program of its own writes into a pipe that nobody reads. */
import assert from 'node:assert/strict';
import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { LineOutput } from '../../../src/platform/log/log.ts';
import { type LogLine, temporaryFolder } from '../../support/workspace.ts';

/** Lines of 1 KiB: several times what may wait, and more than a pipe holds. */
const LINES = 6_000;

test('a reader that hangs costs log lines, no memory, and is told of their number once it reads', async (t) => {
  const pipe = join(temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Both ends: somebody has it open for reading, and does not read.
  const ends = openSync(pipe, 'r+');
  const program = fork(join(import.meta.dirname, '../../support/children/talkative.ts'), [], {
    stdio: ['ignore', ends, 'inherit', 'ipc'],
  });
  t.after(() => program.kill('SIGKILL'));
  const waitingAfter = async (lines: number): Promise<number> => {
    program.send(lines);
    const [waitingBytes] = (await once(program, 'message')) as [number];
    return waitingBytes;
  };
  const waitingBytes = await waitingAfter(LINES);
  assert.ok(waitingBytes > LIMITS.log.waitingBytes / 2, `${waitingBytes} bytes wait`);
  assert.ok(waitingBytes <= LIMITS.log.waitingBytes, `${waitingBytes} bytes wait`);

  const reader = spawn('cat', [pipe], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => reader.kill('SIGKILL'));
  const lines = createInterface(reader.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<LogLine> => JSON.parse((await lines.next()).value as string) as LogLine;
  let spoken = 0;
  let line = await next();
  for (; line.message === 'spoken'; line = await next()) spoken++;
  assert.equal(line.level, 'warn');
  assert.equal(line.message, 'log lines were left out: their reader did not take them');
  assert.equal(spoken + (line['lines'] as number), LINES);
  assert.ok((line['bytes'] as number) > (line['lines'] as number) * 1_000);

  assert.equal(await waitingAfter(2), 0);
  assert.deepEqual([(await next()).message, (await next()).message], ['spoken', 'spoken']);
  closeSync(ends);
});

test('a reader that has gone costs log lines, and does not end the program', async (t) => {
  const program = fork(join(import.meta.dirname, '../../support/children/talkative.ts'), [], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  t.after(() => program.kill('SIGKILL'));
  program.stdout?.destroy();
  for (let round = 0; round < 3; round++) {
    program.send(2);
    const [event] = (await Promise.race([
      once(program, 'message').then(() => ['answered']),
      once(program, 'exit').then(() => ['ended']),
    ])) as [string];
    assert.equal(event, 'answered');
  }
});

test('a single line is written however long it is, and earlier dropped ones are counted', () => {
  const taken: string[] = [];
  let done = (): void => undefined;
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, callback) => {
      taken.push(chunk.toString('utf8'));
      done = callback;
    },
  });
  const output = new LineOutput(stream, { waitingBytes: 10 }, ({ lines, bytes }) =>
    output.write(`${lines} ${bytes}\n`),
  );
  for (const line of ['a line alone\n', 'b\n', 'üü\n']) output.write(line);
  done();
  for (const line of ['c\n', 'd\n', 'e\n', 'f\n']) output.write(line);
  for (let left = 5; left > 0; left--) done();
  assert.deepEqual(taken, ['a line alone\n', '2 7\n', 'c\n', 'd\n', 'e\n', '1 2\n']);
});
