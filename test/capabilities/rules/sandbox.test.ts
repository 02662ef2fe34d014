/** The gateway's side of the sandbox: its orders, the reports that it accepts, and its answers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Rule } from '../../../src/capabilities/rules/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { RuleAnswer } from '../../../src/protocol/rule-sandbox.ts';
import { settle } from '../../support/test-clock.ts';
import { LIST_DEVICES, namesOf, startSandbox, started } from './sandbox-support.ts';
import { newRule } from './support.ts';

describe('the sandbox', () => {
  test('the sandbox is told the site and every rule in the order of creation once it has said hello, and not before', async (t) => {
    const site = await startSandbox(t);
    const rules = ['c', 'a', 'b'].map((slug) => site.rules.create(newRule(slug)));
    site.rules.create(newRule('off', { disabled: true }));
    assert.deepEqual(site.program.told, []);
    assert.equal(
      rules.some((rule) => site.rules.condition(rule).isStarted),
      false,
    );
    assert.ok(rules.every((rule) => site.rules.condition(rule).isStarting));
    site.program.hello();
    assert.deepEqual(namesOf(site), ['site', 'start c', 'start a', 'start b']);
    const [start] = site.program.of('start');
    assert.deepEqual(start?.rule, {
      id: rules[0]?.id,
      slug: 'c',
      runtimeVersion: 'V3',
      code: 'x = 1',
      execIntervalMs: 0,
      isTraced: false,
    });
  });

  test('the sandbox gets its settings anew with each life, and the site as it is when it says hello', async (t) => {
    const site = await startSandbox(t);
    site.rules.create(newRule('a'));
    assert.deepEqual(site.program.settings, {
      site: { timeZone: 'Europe/Berlin', location: { latitude: 52.5, longitude: 13.4 } },
      log: { level: 'info', format: 'json' },
    });
    site.setTimeZone('Asia/Tokyo');
    site.program.hello();
    assert.equal(site.program.of('site')[0]?.site.timeZone, 'Asia/Tokyo');
    site.setTimeZone('UTC');
    assert.equal(site.program.of('site')[1]?.site.timeZone, 'UTC');
  });

  test('the sandbox is told changes of rules: renamed, another script, disabled, deleted, suspended, resumed', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    site.program.told.length = 0;
    const rule = site.rules.create(newRule('a'));
    const renamed = site.rules.rename(rule, 'b');
    const updated = site.rules.updateScript(renamed, { ...rule.script, code: 'y = 2' });
    site.rules.setDisabled([updated.id], true);
    site.rules.setDisabled([updated.id], true);
    site.rules.setDisabled([updated.id], false);
    site.rules.suspend();
    site.rules.suspend();
    site.rules.resume();
    site.rules.remove([updated.id]);
    const end = rule.id.slice(-1);
    assert.deepEqual(namesOf(site), [
      'start a',
      `update ${end}`,
      'start b',
      `stop ${end}`,
      'start b',
      `stop ${end}`,
      'start b',
      `stop ${end}`,
    ]);
    const generations = site.program.of('start').map(({ generation }) => generation);
    assert.deepEqual(
      generations,
      [...new Set(generations)].sort((a, b) => a - b),
    );
  });

  test('the sandbox reports what runs; reports of an earlier start do not count', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    const generation = started(site, rule);
    assert.equal(site.rules.condition(rule).isStarted, true);
    site.rules.updateScript(rule, { ...rule.script, code: 'y = 2' });
    site.program.say({ type: 'state', ruleId: rule.id, generation, state: 'STARTED' });
    assert.equal(site.rules.condition(rule).isStarted, false);
    const next = started(site, rule);
    assert.equal(site.rules.condition(rule).isStarted, true);
    site.program.say({ type: 'state', ruleId: rule.id, generation, state: 'STOPPED' });
    assert.equal(site.rules.condition(rule).isStarted, true);
    site.program.say({ type: 'state', ruleId: rule.id, generation: next, state: 'STOPPED' });
    assert.equal(site.rules.condition(rule).isStarted, false);
  });

  test('the sandbox reports when a failed rule starts again, until it has or its state is unknown', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    const generation = started(site, rule);
    const restarts = (): number | undefined => site.rules.condition(rule).restartsAtMs;
    const state = { type: 'state', ruleId: rule.id, generation } as const;
    assert.equal(restarts(), undefined);
    site.program.say({ ...state, state: 'STOPPED', restartsInMs: 10_000 });
    assert.equal(restarts(), site.clock.wallMs() + 10_000);
    site.rules.suspend();
    assert.equal(restarts(), undefined);
    site.rules.resume();
    assert.equal(restarts(), undefined);
  });

  test('the log takes the last entries of a stopped rule, but none of a deleted one', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    const generation = started(site, rule);
    const say = (message: string): void =>
      site.program.say({
        type: 'log',
        ruleId: rule.id,
        generation,
        entries: [{ timestampMs: 0, severity: 'info', message }],
      });
    site.rules.setDisabled([rule.id], true);
    say('rule stopped');
    await site.clock.advance(1_000);
    assert.deepEqual(site.messages(rule), ['rule stopped']);
    site.rules.remove([rule.id]);
    say('too late');
    await site.clock.advance(1_000);
    assert.deepEqual(site.messages(rule), []);
  });
});

describe('the process of the sandbox', () => {
  test('the process of the sandbox is started with the first rule that shall run, and not before', async (t) => {
    const site = await startSandbox(t);
    const rule = site.rules.create(newRule('a', { disabled: true }));
    assert.equal(site.program.state, 'stopped');
    site.rules.setDisabled([rule.id], false);
    assert.deepEqual([site.program.state, site.program.isReleased], ['starting', false]);
  });

  test('the process of the sandbox is stopped with the last rule, and kept when there is another one at once', async (t) => {
    const site = await startSandbox(t);
    const [first, second] = [site.rules.create(newRule('a')), site.rules.create(newRule('b'))];
    site.program.hello();
    site.rules.remove([first.id]);
    assert.equal(site.program.isReleased, false);
    site.rules.suspend();
    assert.equal(site.program.isReleased, true);
    site.rules.resume();
    assert.equal(site.program.isReleased, false);
    site.rules.remove([second.id]);
    assert.equal(site.program.isReleased, true);
  });

  test('the process of the sandbox counts no failure when it ended because nothing was to run', async (t) => {
    const site = await startSandbox(t);
    const rule = site.rules.create(newRule('a'));
    site.program.hello();
    site.rules.remove([rule.id]);
    site.program.rest();
    assert.equal(site.ends(), 0);
    site.rules.create(newRule('b'));
    site.program.hello();
    assert.deepEqual(namesOf(site).slice(-2), ['site', 'start b']);
  });
});

describe('a request', () => {
  test('a request of a rule that was stopped or replaced meanwhile is not carried out', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    const callMethod = async (id: number): Promise<RuleAnswer | undefined> => {
      site.program.say({ type: 'request', id, ruleId: rule.id, run: 1, ...LIST_DEVICES });
      await settle();
      return site.program.of('answer').find((answer) => answer.id === id);
    };
    const refused = (id: number) => ({ type: 'answer', id, ok: false, error: 'the rule was stopped' });
    assert.deepEqual(await callMethod(1), refused(1), 'nothing was heard of it yet');
    started(site, rule);
    assert.equal((await callMethod(2))?.ok, true);
    site.rules.updateScript(rule, { ...rule.script, code: 'y = 2' });
    assert.deepEqual(await callMethod(3), refused(3));
    started(site, rule);
    assert.equal((await callMethod(4))?.ok, true);
    site.rules.suspend();
    assert.deepEqual(await callMethod(5), refused(5));
    assert.deepEqual(site.asked, ['a list_devices', 'a list_devices']);
  });

  test('a request that fails by a fault of ours is answered, and so is the next one', async (t) => {
    const site = await startSandbox(t, { callMethod: () => Promise.reject(new Error('oops')) });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    site.program.say({ type: 'request', id: 7, ruleId: rule.id, run: 1, ...LIST_DEVICES });
    await settle();
    assert.deepEqual(site.program.of('answer'), [
      { type: 'answer', id: 7, ok: false, error: 'the gateway failed to answer' },
    ]);
  });

  test('a request is not answered to the next sandbox after the one that sent it', async (t) => {
    const { promise, resolve } = Promise.withResolvers<RuleAnswer>();
    const site = await startSandbox(t, { callMethod: () => promise });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    site.program.say({ type: 'request', id: 1, ruleId: rule.id, run: 1, ...LIST_DEVICES });
    site.program.die();
    site.program.hello();
    started(site, rule);
    resolve({ ok: true, result: 'of the earlier life' });
    await settle();
    assert.deepEqual(site.program.of('answer'), []);
  });

  test('a request is refused when its answer is larger than a message', async (t) => {
    const result = 'x'.repeat(LIMITS.processes.messageBytes);
    const site = await startSandbox(t, { callMethod: async () => ({ ok: true, result }) });
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    site.program.say({ type: 'request', id: 1, ruleId: rule.id, run: 1, ...LIST_DEVICES });
    await settle();
    assert.deepEqual(site.program.of('answer'), [
      { type: 'answer', id: 1, ok: false, error: 'the answer is too large' },
    ]);
  });
});

describe('a sandbox that does not read', () => {
  test('a sandbox that does not read is told everything in order as soon as it reads again', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    site.program.told.length = 0;
    site.program.room = 1;
    const [first, second] = [site.rules.create(newRule('a')), site.rules.create(newRule('b'))];
    started(site, first);
    site.program.say({ type: 'request', id: 1, ruleId: first.id, run: 1, ...LIST_DEVICES });
    await settle();
    site.rules.remove([first.id]);
    assert.deepEqual(namesOf(site), ['start a']);
    await site.program.read(2);
    assert.deepEqual(namesOf(site), ['start a', 'start b', 'answer']);
    site.rules.setDisabled([second.id], true);
    await site.program.read(100);
    const [one, two] = [first.id.slice(-1), second.id.slice(-1)];
    assert.deepEqual(namesOf(site), ['start a', 'start b', 'answer', `stop ${one}`, `stop ${two}`]);
  });

  test('a sandbox that does not read and dies leaves to the next one only the messages that it needs', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    site.program.room = 0;
    const [rule] = [site.rules.create(newRule('a')), site.rules.create(newRule('b'))];
    site.rules.remove([rule.id]);
    site.program.die();
    site.program.hello();
    await settle();
    assert.deepEqual(namesOf(site), ['site', 'start b']);
  });
});

describe('a sandbox that ends', () => {
  test('a sandbox that ends is told every rule anew; nothing counts as started before it says so', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rules = [site.rules.create(newRule('a')), site.rules.create(newRule('b'))];
    for (const rule of rules) started(site, rule);
    site.program.die();
    assert.equal(site.ends(), 1);
    assert.deepEqual(
      rules.map((rule) => site.rules.condition(rule).isStarted),
      [false, false],
    );
    site.program.hello();
    assert.deepEqual(namesOf(site), ['site', 'start a', 'start b']);
    assert.deepEqual(
      rules.map((rule) => site.rules.condition(rule).isStarted),
      [false, false],
    );
    await site.clock.advance(1_000);
    assert.deepEqual(site.messages(rules[0] as Rule), ['the rule engine ended and is started again']);
  });

  test('a sandbox that ends is counted in metrics with what it used, and started rules are none then', async (t) => {
    const site = await startSandbox(t);
    site.program.hello();
    const rule = site.rules.create(newRule('a'));
    started(site, rule);
    const usage = { ruleId: rule.id, memoryBytes: 1_000, processorMs: 1 };
    site.program.say({ type: 'status', rules: [usage], threads: 1, threadsEnded: 2 });
    const before = await site.metrics.text();
    assert.match(before, /rules_started 1\n/);
    assert.match(before, /rule_memory_bytes 1000\n/);
    assert.match(before, /rule_threads_ended 2\n/);
    site.program.die();
    const after = await site.metrics.text();
    assert.match(after, /rules_started 0\n/);
    assert.match(after, /rule_memory_bytes 0\n/);
  });
});
