import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog, type Log, type LogFormat, type LogLevel } from '../../../src/platform/log/index.ts';
import { asSystemFault } from '../../../src/lib/system-fault.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';

function written(format: LogFormat, use: (log: Log) => void, level: LogLevel = 'debug'): string {
  let text = '';
  const write = (line: string): void => void (text += line);
  use(createLog({ level, format, clock: new TestClock(Date.UTC(2026, 2, 1, 8)), write }));
  return text;
}

describe('the service log', () => {
  test('the service log leaves out what is below its level', () => {
    const text = written('json', (log) => (log.debug('a'), log.info('b'), log.warn('c')), 'warn');
    assert.deepEqual(
      text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { message: string }).message),
      ['c'],
    );
  });

  test('the service log writes one JSON object per line with time, level, message and fields', () => {
    const text = written('json', (log) => log.info('started', { duration_ms: 5 }));
    assert.equal(text.split('\n').length, 2);
    assert.deepEqual(JSON.parse(text), {
      level: 'info',
      time: '2026-03-01T08:00:00.000Z',
      duration_ms: 5,
      message: 'started',
    });
  });

  test('the service log keeps an entry on one line whatever its text', () => {
    const text = written('json', (log) => log.info('a\nb', { c: '\u2028\r\n' }));
    assert.equal(text.trimEnd().split('\n').length, 1);
  });

  test('the service log puts the syslog priority before the line for the journal', () => {
    const text = written('journal', (log) => {
      log.debug('a');
      log.info('a');
      log.warn('a');
      log.error('a');
      log.fatal('a');
    });
    const lines = text.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => line.slice(0, 3)),
      ['<7>', '<6>', '<4>', '<3>', '<2>'],
    );
    assert.equal((JSON.parse(lines[4]?.slice(3) ?? '') as { level: string }).level, 'fatal');
  });

  test('the service log is readable on a terminal', () => {
    const text = written('text', (log) =>
      log.child({ component: 'mqtt' }).warn('client is slow', { client_id: 'a b', queued_bytes: 7 }),
    );
    assert.equal(text, '08:00:00.000 warn  mqtt: client is slow client_id="a b" queued_bytes=7\n');
  });

  test('shows the stack of an error and of its cause on a terminal', () => {
    const error = new Error('broken', { cause: new Error('worn out') });
    const text = written('text', (log) => log.error('failed', { error }));
    assert.match(text, /^08:00:00\.000 error failed\n {4}Error: broken\n {4}\s*at /);
    assert.match(text, /\n {4}caused by Error: worn out\n {4}\s*at /);
  });

  test('the service log keeps foreign words of an error from beginning a line or steering a terminal', () => {
    const words = 'refused\r\n08:00:00.000 error forged\u001b[2J\u0007\u0085\u2028';
    const cause = Object.assign(new Error(words), { code: 'ENOSPC' });
    const text = written('text', (log) => log.warn('not sent', { error: new Error(words, { cause }) }));
    const codes = 'refused\\u000d\\u000a08:00:00.000 error forged\\u001b[2J\\u0007\\u0085\\u2028';
    assert.equal(text.split(codes).length - 1, 2);
    for (const line of text.trimEnd().split('\n').slice(1)) assert.match(line, /^ {4}(Error|caused by|at) ?/);
  });

  test('the service log takes one line for a refusal of the disk, and one for its cause', () => {
    const refused = Object.assign(new Error('no space left, write'), { code: 'ENOSPC' });
    const text = written('text', (log) => log.warn('not stored', { error: asSystemFault(refused) }));
    assert.equal(
      text,
      '08:00:00.000 warn  not stored\n    The disk is full, so this cannot be stored now. Make room on it.\n    caused by no space left, write\n',
    );
  });

  test('the service log gives a child its own fields and its parent’s', () => {
    const clock = new TestClock();
    const { log, lines } = recordingLog(clock);
    log.child({ component: 'http' }).child({ request_id: 'r' }).info('done');
    log.info('alone');
    assert.deepEqual([lines[0]?.['component'], lines[0]?.['request_id']], ['http', 'r']);
    assert.equal(lines[1]?.['component'], undefined);
  });

  test('the service log writes an error with its code and all its causes', () => {
    const { log, lines } = recordingLog(new TestClock());
    const disk = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    log.error('failed', {
      error: new Error('commit failed', { cause: new TypeError('x', { cause: disk }) }),
    });
    const error = lines[0]?.['error'] as Record<string, Record<string, Record<string, unknown>>>;
    assert.equal(error['message'], 'commit failed');
    assert.match(JSON.stringify(error['stack']), /log\.test\.ts/);
    assert.deepEqual(
      [error['cause']?.['cause']?.['message'], error['cause']?.['cause']?.['code']],
      ['no space', 'ENOSPC'],
    );
  });

  test('the service log ends with an error that is its own cause', () => {
    const { log, lines } = recordingLog(new TestClock());
    const error = new Error('ring');
    error.cause = error;
    log.error('failed', { error });
    assert.equal(lines.length, 1);
  });

  test('the service log writes thrown values that are no errors', () => {
    const { log, lines } = recordingLog(new TestClock());
    log.error('failed', { error: 'plain' });
    assert.equal(lines[0]?.['error'], 'plain');
  });
});

describe('a limited warning', () => {
  test('a limited warning is written once per interval and key, then with the number of those left out', async () => {
    const clock = new TestClock();
    const { log, lines } = recordingLog(clock);
    const warn = (key: string): void => log.warnLimited(key, 60_000, `${key} is full`);
    warn('queue');
    warn('queue');
    await clock.advance(59_999);
    warn('queue');
    warn('buffer');
    await clock.advance(1);
    warn('queue');
    await clock.advance(60_000);
    warn('queue');
    assert.deepEqual(
      lines.map(({ message, suppressed }) => [message, suppressed]),
      [
        ['queue is full', undefined],
        ['buffer is full', undefined],
        ['queue is full', 2],
        ['queue is full', undefined],
      ],
    );
  });

  test('a limited warning is limited across children and not by a step of the wall clock', () => {
    const clock = new TestClock();
    const { log, lines } = recordingLog(clock);
    log.child({ a: 1 }).warnLimited('k', 1_000, 'm');
    clock.step(86_400_000);
    log.child({ a: 2 }).warnLimited('k', 1_000, 'm');
    assert.equal(lines.length, 1);
  });

  test('a limited warning does not let ever new keys take memory without end', () => {
    const { log, lines } = recordingLog(new TestClock());
    for (let key = 0; key < 1_001; key++) log.warnLimited(`k${key}`, 1_000, 'm');
    log.warnLimited('k1000', 1_000, 'm');
    log.warnLimited('k0', 1_000, 'm');
    assert.equal(lines.length, 1_002);
  });
});
