import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { LuaFailure } from '../../../src/scripting/lua/index.ts';
import { createRuleLog } from '../../../src/scripting/rule-sandbox/rule-log.ts';
import { TestClock } from '../../support/test-clock.ts';

const boom = (text: string): LuaFailure =>
  new LuaFailure('error', `main.lua:4: ${text}`, ['main.lua:4: in function']);

/** A log whose clock starts at 12:04 in Berlin. */
function startLog(limits: Partial<typeof LIMITS.rules> = {}) {
  const clock = new TestClock(Date.parse('2026-11-28T11:04:20Z'));
  const said: string[] = [];
  const log = createRuleLog({
    clock,
    limits: { ...LIMITS.rules, ...limits },
    timeZone: () => 'Europe/Berlin',
    send: (entries) => said.push(...entries.map(({ message }) => message)),
  });
  /** Fails so many times, once per period. */
  const fail = async (times: number, periodMs: number, text = 'boom'): Promise<void> => {
    for (let count = 0; count < times; count++) {
      log.repeatedFailure(boom(text));
      await clock.advance(periodMs);
    }
  };
  return { clock, log, said, fail };
}

describe('an error of a rule that repeats', () => {
  const { repeatedErrorMs, repeatedErrorMaxMs, repeatedErrorBytes, errorsRemembered } = LIMITS.rules;

  test('an error of a rule that repeats is logged with its traceback at once, and counted after a minute', async () => {
    const { said, fail } = startLog();
    await fail(1, 20);
    assert.deepEqual(said, ['main.lua:4: boom\nstack traceback:\n\tmain.lua:4: in function']);
    await fail(36, 1_000);
    assert.equal(said.length, 1);
    await fail(30, 1_000);
    assert.deepEqual(said.slice(1), ['61 times since 12:04: main.lua:4: boom']);
  });

  test('an error of a rule that repeats is counted after pauses that double up to an hour', async () => {
    const { clock, said, fail } = startLog();
    const writtenAt: number[] = [];
    for (let minute = 0; minute < 300; minute++) {
      const before = said.length;
      await fail(1, repeatedErrorMs);
      if (said.length > before) writtenAt.push(minute);
    }
    const pauses = writtenAt.slice(1).map((at, index) => at - (writtenAt[index] ?? 0));
    assert.deepEqual(pauses.slice(0, 7), [1, 2, 4, 8, 16, 32, 60]);
    assert.equal(clock.monotonicMs() >= repeatedErrorMaxMs, true);
  });

  test('a repeated error of a rule has the date of its first time once that is another day', async () => {
    const { said, fail } = startLog();
    await fail(24 * 4, 15 * 60_000);
    assert.match(said.at(-1) ?? '', /^\d+ times since 2026-11-28 12:04: main\.lua:4: boom$/);
  });

  test('a repeated error of a rule suppresses no other error', async () => {
    const { said, fail } = startLog();
    await fail(10, 20);
    await fail(1, 20, 'another');
    await fail(10, 20);
    assert.match(said.at(-1) ?? '', /^main\.lua:4: another\n/);
  });

  test('an error of a rule that repeats is new again after an hour without it', async () => {
    const { said, fail } = startLog();
    await fail(2, repeatedErrorMaxMs);
    assert.equal(said.filter((text) => text.startsWith('main.lua:4: boom\n')).length, 2);
  });

  test('an error of a rule that repeats has its count in the log when the rule ends, or when too many other errors came since', async () => {
    const { log, said, fail } = startLog({ errorsRemembered: 2 });
    await fail(3, 20, 'first');
    await fail(4, 20, 'second');
    await fail(1, 20, 'third');
    assert.ok(said.includes('3 times since 12:04: main.lua:4: first'));
    assert.ok(!said.includes('4 times since 12:04: main.lua:4: second'));
    log.flush();
    assert.ok(said.includes('4 times since 12:04: main.lua:4: second'));
    log.flush();
    assert.equal(said.length, 5);
    assert.ok(errorsRemembered > 2);
  });

  test('a repeated error of a rule is cut in the entry that counts it, and distinguished from another with the same beginning', async () => {
    const { log, said, fail } = startLog();
    const long = 'x'.repeat(2 * repeatedErrorBytes);
    await fail(2, 20, `${long}1`);
    await fail(2, 20, `${long}2`);
    log.flush();
    assert.equal(said.length, 4);
    assert.ok(said.slice(2).every((text) => text.startsWith('2 times since') && text.length < 600));
  });
});

describe('the log of a rule', () => {
  test('the log of a rule counts how often the rule pauses', async () => {
    const { clock, log, said } = startLog();
    for (let count = 0; count < 40; count++) log.pause(15.2 + count);
    await clock.advance(LIMITS.rules.repeatedErrorMs + 20);
    assert.deepEqual(said, [
      'takes too much processor time and pauses again and again, now for 15 ms',
      '40 times since 12:04: takes too much processor time and pauses again and again',
    ]);
  });

  test('the log of a rule says why it failed, however much the rule itself has logged', async () => {
    const { logsPerSecond, ownLogsPerSecond } = LIMITS.rules;
    const { log, said } = startLog();
    for (let count = 0; count < 2 * logsPerSecond; count++) log.write('info', 'flood');
    log.failure(new LuaFailure('error', 'main.lua:3: boom', ['main.lua:3: in main chunk']));
    for (let count = 0; count < 2 * ownLogsPerSecond; count++)
      log.repeatedFailure(new LuaFailure('error', `main.lua:4: ${count}`));
    log.flush();
    assert.equal(said[logsPerSecond], 'main.lua:3: boom\nstack traceback:\n\tmain.lua:3: in main chunk');
    assert.equal(said.length, logsPerSecond + ownLogsPerSecond + 1);
    const dropped = logsPerSecond + ownLogsPerSecond + 1;
    assert.match(said.at(-1) ?? '', new RegExp(`^${dropped} log entries were dropped`));
  });
});
