/** Records of rules, the user's switches, and the resulting orders to the runner. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import { newRule, notingRunner, startRecords } from './support.ts';

const refused = (code: string) => (error: unknown) => error instanceof GatewayError && error.code === code;

describe('the engine refuses', () => {
  test('the engine refuses one rule more than a site may have; after a deletion there is room again', async (t) => {
    const { rules } = await startRecords(t, { limits: { rules: 2 } });
    const first = rules.create(newRule('a'));
    rules.create(newRule('b'));
    assert.throws(() => rules.create(newRule('c')), refused('rule_limit_reached'));
    rules.remove([first.id]);
    rules.create(newRule('c'));
  });

  test('the engine refuses a slug that another rule has, and lets a rule keep its own', async (t) => {
    const { rules } = await startRecords(t);
    const [rule] = [rules.create(newRule('a')), rules.create(newRule('b'))];
    assert.throws(() => rules.create(newRule('a')), refused('already_exists'));
    assert.throws(() => rules.rename(rule, 'b'), refused('already_exists'));
    assert.equal(rules.rename(rule, 'a'), rule);
  });

  test('the engine refuses batches with an unknown rule, and changes nothing', async (t) => {
    const { rules } = await startRecords(t);
    const { runner, told } = notingRunner();
    const rule = rules.create(newRule('a'));
    rules.start(runner);
    told.length = 0;
    assert.throws(() => rules.setDisabled([rule.id, 'x'], true), refused('rule_not_found'));
    assert.throws(() => rules.remove([rule.id, 'x']), refused('rule_not_found'));
    assert.deepEqual(rules.require('a'), rule);
    assert.deepEqual(told, []);
  });

  for (const [change, trigger] of [
    ['disabling', 'UPDATE ON rule'],
    ['deleting', 'DELETE ON rule'],
    ['suspending', 'UPDATE ON rule_engine'],
  ] as const)
    test(`the engine refuses ${change} when the disk does; flags stay, and scripts go on`, async (t) => {
      const records = await startRecords(t);
      const { rules, state } = records;
      const { runner, told } = notingRunner();
      const [first, second] = [rules.create(newRule('a')), rules.create(newRule('b'))];
      rules.start(runner);
      told.length = 0;
      state
        .prepare(`CREATE TRIGGER full BEFORE ${trigger} BEGIN SELECT raise(ABORT, 'disk full'); END`)
        .run();
      const ids = [first.id, second.id];
      assert.throws(() => {
        if (change === 'disabling') rules.setDisabled(ids, true);
        else if (change === 'deleting') rules.remove(ids);
        else rules.suspend();
      });
      assert.deepEqual(told, []);
      assert.deepEqual(rules.all(), [first, second]);
      assert.equal(rules.engine().state, 'ACTIVE');
      await records.restart();
      assert.deepEqual(records.rules.all(), [first, second]);
      assert.equal(records.rules.engine().state, 'ACTIVE');
    });
});

describe('the runner', () => {
  test('the runner is told nothing before the start, then every enabled rule in the order of creation', async (t) => {
    const { rules } = await startRecords(t);
    const { runner, told } = notingRunner();
    for (const slug of ['c', 'a', 'b']) rules.create(newRule(slug, { disabled: slug === 'a' }));
    rules.start(runner);
    assert.deepEqual(told, ['run c V3', 'run b V3']);
  });

  test('the runner is told what follows from each change, and nothing from a change without effect', async (t) => {
    const { rules } = await startRecords(t);
    const { runner, told } = notingRunner();
    rules.start(runner);
    const did = (change: () => unknown): string[] => {
      told.length = 0;
      change();
      return [...told];
    };
    const v1 = { code: 'x = 1', runtimeVersion: 'V1', execIntervalMs: 1_000 } as const;
    assert.deepEqual(
      did(() => rules.create(newRule('off', { disabled: true }))),
      ['end 02'],
    );
    assert.deepEqual(
      did(() => rules.create(newRule('a'))),
      ['run a V3'],
    );
    assert.deepEqual(
      did(() => rules.setDisabled(['a'], false)),
      [],
    );
    assert.deepEqual(
      did(() => rules.rename(rules.require('a'), 'b')),
      ['rename b'],
    );
    assert.deepEqual(
      did(() => rules.updateScript(rules.require('b'), v1)),
      ['run b V1'],
    );
    assert.deepEqual(
      did(() => rules.setDisabled(['b', 'b', 'off'], true)),
      ['end 03'],
    );
    assert.deepEqual(
      did(() => rules.setDisabled(['b'], true)),
      [],
    );
    assert.deepEqual(
      did(() => rules.setDisabled(['off', 'b'], false)),
      ['run off V3', 'run b V1'],
    );
    assert.deepEqual(
      did(() => rules.suspend()),
      ['end 02', 'end 03'],
    );
    assert.deepEqual(
      did(() => rules.suspend()),
      [],
    );
    assert.deepEqual(
      did(() => rules.setDisabled(['b'], true)),
      ['end 03'],
    );
    assert.deepEqual(
      did(() => rules.setDisabled(['b'], false)),
      ['end 03'],
    );
    assert.deepEqual(
      did(() => rules.resume()),
      ['run off V3', 'run b V1'],
    );
    assert.deepEqual(
      did(() => rules.resume()),
      [],
    );
    assert.deepEqual(
      did(() => rules.remove(['b', 'off'])),
      ['end 03', 'end 02'],
    );
  });

  test('the runner starts a rule on request, but none while the engine is suspended or the rule disabled', async (t) => {
    const records = await startRecords(t);
    const rule = records.rules.create(newRule('a'));
    const { runner } = notingRunner(new Set([rule.id]));
    assert.equal(records.rules.condition(rule).isStarted, false);
    records.rules.start(runner);
    assert.equal(records.rules.condition(rule).isStarted, true);
    records.rules.suspend();
    assert.equal(records.rules.condition(rule).isStarted, false);
    records.rules.resume();
    const [disabled = rule] = records.rules.setDisabled([rule.id], true);
    assert.equal(records.rules.condition(disabled).isStarted, false);
  });
});

describe('rules', () => {
  test('rules survive a restart with everything they are, in the order of creation', async (t) => {
    const records = await startRecords(t);
    const script = { code: "x = 'é\0'", runtimeVersion: 'V1', execIntervalMs: 90_000 } as const;
    records.rules.create(newRule('z', { script, disabled: true }));
    await records.clock.advance(1);
    records.clock.step(-86_400_000);
    records.rules.create(newRule('a'));
    records.rules.suspend();
    const [before, engine] = [records.rules.all(), records.rules.engine()];
    await records.restart();
    assert.deepEqual(records.rules.all(), before);
    assert.deepEqual(records.rules.engine(), engine);
    const { runner, told } = notingRunner();
    records.rules.start(runner);
    assert.deepEqual(told, []);
    records.rules.setDisabled(['z'], false);
    records.rules.resume();
    assert.deepEqual(told.slice(-2), ['run z V1', 'run a V3']);
  });

  test('rules are found by id before slug', async (t) => {
    const { rules } = await startRecords(t);
    const rule = rules.create(newRule('a'));
    assert.equal(rules.require('a'), rule);
    assert.equal(rules.require(rule.id), rule);
    assert.throws(() => rules.require('A'), refused('rule_not_found'));
  });
});
