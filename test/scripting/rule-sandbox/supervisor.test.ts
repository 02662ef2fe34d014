import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { superviseRules } from '../../support/rule-supervisor.ts';
import { until } from '../../support/until.ts';
import { threadWithoutRoom } from '../../support/thread-without-room.ts';

const ALIVE = 'scheduler.add(60000, function() end)';

describe('the supervisor of rules', () => {
  const states: [title: string, code: string, states: string[], says: string][] = [
    ['a rule without jobs ends', 'print(1)', ['STARTED', 'STOPPED'], 'rule finished'],
    ['a rule with a job stays', ALIVE, ['STARTED'], 'rule started'],
    [
      'a rule that does not compile stops for good',
      'x = = 1',
      ['STARTED', 'STOPPED'],
      "main.lua:1: unexpected symbol near '='",
    ],
    [
      'a rule that fails starts again later',
      'error("no", 0)',
      ['STARTED', 'STOPPED'],
      'rule restarts in 10 s',
    ],
  ];
  test('the supervisor of rules reports the states of the truth table', async () => {
    const rules = superviseRules();
    for (const [title, code] of states) rules.start(title, code);
    for (const [title, , expected, says] of states) {
      await rules.heard(title, new RegExp(`^${says.replace(/[()[\]\\]/g, '\\$&')}`));
      await until(() => rules.states(title).length >= expected.length);
      assert.deepEqual(rules.states(title), expected, title);
    }
    await rules.stop();
  });

  test('pauses between restarts of rules double up to a bound', async () => {
    const limits = { rules: { restartFirstMs: 10, restartMaxMs: 40, stableMs: 60_000 } };
    const rules = superviseRules({ limits });
    rules.start('bad', 'error("no", 0)');
    await rules.heard('bad', /^rule restarts in 0\.04 s/, 2);
    const pauses = rules.said.flatMap(({ message }) => /in ([\d.]+) s/.exec(message)?.[1] ?? []);
    assert.deepEqual(pauses.slice(0, 4), ['0.01', '0.02', '0.04', '0.04']);
    await rules.stop();
  });

  test('threads that the system has no room for are started again after pauses', async () => {
    let attempts = 0;
    const rules = superviseRules({
      startThread: ({ onExit }) => {
        attempts++;
        return threadWithoutRoom(onExit);
      },
    });
    rules.start('a', ALIVE);
    const { severity } = await rules.heard('a', /^its thread was ended soon after its start: no room$/);
    assert.equal(severity, 'error');
    await rules.heard('a', /^rule restarts in 10 s$/);
    assert.equal(attempts, 1);
    await rules.stop();
  });

  test('a rule that is stopped and started gets nothing of its old life', async () => {
    const rules = superviseRules();
    rules.start('a', 'while true do enapter.log("old") system.delay(5) end');
    await rules.heard('a', /^old/, 3);
    rules.start('a', 'while true do enapter.log("new") system.delay(5) end');
    await rules.heard('a', /^new/);
    const mark = rules.said.findIndex(({ message }) => message === 'new');
    await rules.heard('a', /^new/, 5);
    assert.ok(rules.said.slice(mark).every(({ message }) => message !== 'old'));
    rules.supervisor.receive({ type: 'stop', ruleId: 'a' });
    await rules.heard('a', /^rule stopped/);
    assert.equal(rules.states('a').at(-1), 'STOPPED');
    const generations = rules.messages.flatMap((m) => (m.type === 'state' ? [m.generation] : []));
    assert.deepEqual(generations, [1, 2, 2]);
    const ended = rules.messages.filter(({ type }) => type === 'run_ended');
    assert.equal(ended.length, 2);
    await rules.stop();
  });

  test('log entries that a rule wrote just before it was stopped or replaced are kept', async () => {
    const rules = superviseRules({
      answer: ({ ruleId }) => {
        // The entry before the question still waits to be handed over.
        if (ruleId === 'stopped') rules.supervisor.receive({ type: 'stop', ruleId });
        else rules.start(ruleId, ALIVE);
        return undefined;
      },
    });
    for (const id of ['stopped', 'replaced'])
      rules.start(id, 'enapter.log("last words") enapter.device("d")');
    await rules.heard('stopped', /^last words$/);
    await rules.heard('replaced', /^last words$/);
    await rules.stop();
  });

  test('questions of rules reach the gateway and answers return; late ones are ignored', async () => {
    const open: number[] = [];
    const rules = superviseRules({
      answer: (message) => {
        if (message.method === 'device_online') open.push(message.id);
        return message.method === 'find_device'
          ? { ok: true, result: { id: 'd', slug: 's', name: 'n', type: 'LUA' } }
          : undefined;
      },
    });
    rules.start('a', 'local d = enapter.device("d") print(d.online())');
    await until(() => open.length === 1);
    rules.start('a', 'local d = enapter.device("d") print(d.online())');
    await until(() => open.length === 2);
    for (const id of open) rules.answer(id, { ok: true, result: id === open[1] });
    assert.equal((await rules.heard('a', /true|false/)).message, 'true');
    await rules.stop();
  });

  test('another time zone starts V3 rules again; a new location does not', async () => {
    const rules = superviseRules();
    rules.start('a', `print(TIMEZONE) ${ALIVE}`);
    await rules.heard('a', /^0$/);
    const location = { latitude: 1, longitude: 2 };
    rules.supervisor.receive({ type: 'site', site: { timeZone: 'UTC', location } });
    rules.supervisor.receive({ type: 'site', site: { timeZone: 'Asia/Tokyo', location } });
    await rules.heard('a', /^32400$/);
    assert.equal(rules.said.filter(({ message }) => message === 'rule started').length, 2);
    await rules.stop();
  });
});
