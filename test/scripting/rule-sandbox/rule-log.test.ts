import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { LuaFailure } from '../../../src/scripting/lua/index.ts';
import { createRuleLog } from '../../../src/scripting/rule-sandbox/rule-log.ts';
import { TestClock } from '../../support/test-clock.ts';

describe('the log of a rule', () => {
  test('says once a minute that the rule pauses, however often it does', async () => {
    const clock = new TestClock();
    const said: string[] = [];
    const log = createRuleLog({
      clock,
      limits: LIMITS.rules,
      send: (entries) => said.push(...entries.map(({ message }) => message)),
    });
    for (let count = 0; count < 40; count++) log.pause(15.2 + count);
    await clock.advance(LIMITS.rules.repeatedErrorMs);
    assert.deepEqual(said, ['takes too much processor time and pauses again and again, now for 15 ms']);
    log.pause(20);
    log.flush();
    assert.equal(said.length, 2);
  });

  test('says why the rule failed, however much the rule itself has said', async () => {
    const { logsPerSecond, ownLogsPerSecond } = LIMITS.rules;
    const clock = new TestClock();
    const said: string[] = [];
    const log = createRuleLog({
      clock,
      limits: LIMITS.rules,
      send: (entries) => said.push(...entries.map(({ message }) => message)),
    });
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
