/** Values that a script reads one after another are requested together, and are never older than its other values. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RuleRequest } from '../../../src/protocol/rule-sandbox.ts';
import { answers, ok, refused, type RunningRule, startRule } from '../../support/rule-run.ts';

/** Values that the test sets. */
function meters(values: Record<string, number>) {
  const latest = ({ name }: { name: string }) =>
    name in values
      ? ok({ value: values[name] ?? 0, timestampMs: 0 })
      : refused(`unknown telemetry attribute "${name}"`);
  return answers({ latest, execute: () => ok({}), device_online: () => ok(true) });
}

/** A rule whose slices do not end early, however long this process has to wait for its processor. */
function started(code: string, options: Parameters<typeof startRule>[1]): RunningRule {
  return startRule(code, { ...options, limits: { lua: { sliceMs: 60_000 }, ...options?.limits } });
}

/** The messages of what it does within a second, as the names of what they ask. */
async function second(rule: RunningRule): Promise<string[][]> {
  const before = rule.messages.length;
  await rule.clock.advance(1_000);
  await rule.idle();
  return rule.messages.slice(before).map((message) => {
    const requests: readonly RuleRequest[] =
      message.method === 'several' ? message.parameters.requests : [message];
    return requests.map(({ method, parameters }) => ('name' in parameters ? parameters.name : method));
  });
}

const BEGIN = 'local d = enapter.device("battery") local t = d.telemetry\n';

describe('what a rule reads one after another', () => {
  test('values that a rule reads in a row are requested together from the second time on, and are always current', async () => {
    const values: Record<string, number> = { a: 1, b: 2, c: 3 };
    const rule = started(
      `${BEGIN}scheduler.add(1000, function() print(t.now("a"), t.now("b"), t.now("c")) end)`,
      { answers: meters(values) },
    );
    await rule.idle();
    assert.deepEqual(await second(rule), [['a'], ['b'], ['c']]);
    Object.assign(values, { a: 4, b: 5, c: 6 });
    assert.deepEqual(await second(rule), [['a', 'b', 'c']]);
    delete values['b'];
    assert.deepEqual(await second(rule), [['a', 'b', 'c']]);
    assert.deepEqual(rule.said(), ['1\t2\t3', '4\t5\t6', '4\tnil\t6']);
    rule.run.stop();
  });

  test('values that a rule reads in a row are requested again after a wait', async () => {
    const values = { a: 1, b: 1 };
    const rule = started(
      `${BEGIN}local waits = false
      scheduler.add(1000, function()
        local a = t.now("a")
        if waits then system.delay(100) end
        waits = true
        print(a, t.now("b"))
      end)`,
      { answers: meters(values) },
    );
    await rule.idle();
    await second(rule);
    await rule.clock.advance(1_000);
    await rule.idle();
    values.b = 2;
    await rule.clock.advance(100);
    await rule.idle();
    assert.deepEqual(rule.said(), ['1\t1', '1\t2']);
    rule.run.stop();
  });

  test('values that a rule reads in a row are requested again after a command', async () => {
    const values = { a: 1, b: 1 };
    const rule = started(
      `${BEGIN}local commands = false
      scheduler.add(1000, function()
        local a = t.now("a")
        if commands then d.execute_command("raise") end
        commands = true
        print(a, t.now("b"))
      end)`,
      { answers: { ...meters(values), execute: () => ok({ b: ++values.b }) } },
    );
    await rule.idle();
    await second(rule);
    assert.deepEqual(await second(rule), [['a', 'b'], ['raise'], ['b']]);
    assert.deepEqual(rule.said(), ['1\t1', '1\t2']);
    rule.run.stop();
  });

  test('a value that a rule reads twice is requested again', async () => {
    const rule = started(
      `${BEGIN}scheduler.add(1000, function() t.now("a") t.now("b") t.now("a") t.now("b") end)`,
      { answers: meters({ a: 1, b: 1 }) },
    );
    await rule.idle();
    await second(rule);
    assert.deepEqual(await second(rule), [
      ['a', 'b'],
      ['a', 'b'],
    ]);
    rule.run.stop();
  });

  test('values that a rule reads in a row are requested again when they came too long ago', async () => {
    const values = { a: 1, b: 1 };
    const rule = started(`${BEGIN}scheduler.add(1000, function() t.now("a") t.now("b") end)`, {
      answers: meters(values),
      limits: { rules: { readAheadMs: -1 } },
    });
    await rule.idle();
    await second(rule);
    assert.deepEqual(await second(rule), [['a', 'b'], ['b']]);
    rule.run.stop();
  });

  test('values requested ahead and not read are left out the next time', async () => {
    const rule = started(
      `${BEGIN}local first = true
      scheduler.add(1000, function() t.now("a") if first then t.now("b") first = false end end)`,
      { answers: meters({ a: 1, b: 1 }) },
    );
    await rule.idle();
    const seconds: string[][][] = [];
    for (let count = 0; count < 6; count++) seconds.push(await second(rule));
    assert.deepEqual(seconds, [[['a'], ['b']], [['a', 'b']], [['a', 'b']], [['a', 'b']], [['a']], [['a']]]);
    rule.run.stop();
  });

  test('values requested ahead count one by one for the rate of a rule', async () => {
    const rule = started(
      `${BEGIN}scheduler.add(1000, function() print(t.now("a"), t.now("b"), t.now("c")) end)`,
      {
        answers: meters({ a: 1, b: 2, c: 3 }),
        limits: { rules: { requestsPerSecond: 2, requestBurst: 3 } },
      },
    );
    await rule.idle();
    await second(rule);
    assert.deepEqual((await second(rule)).flat(), ['a', 'b']);
    rule.run.stop();
  });

  test('a value with an oversized name is not requested ahead', async () => {
    const long = 'x'.repeat(2_000);
    const rule = started(
      `${BEGIN}scheduler.add(1000, function() t.now("a") t.now("${long}") t.now("b") end)`,
      { answers: meters({ a: 1, b: 1 }) },
    );
    await rule.idle();
    await second(rule);
    assert.deepEqual(await second(rule), [['a'], [long], ['b']]);
    rule.run.stop();
  });

  test('values requested ahead are requested one by one where the gateway refuses all of them', async () => {
    const rule = started(`${BEGIN}scheduler.add(1000, function() print(t.now("a"), t.now("b")) end)`, {
      answers: { ...meters({ a: 1, b: 2 }), several: () => refused('the answer is too large') },
    });
    await rule.idle();
    await second(rule);
    assert.deepEqual(await second(rule), [['a', 'b'], ['a'], ['b']]);
    rule.run.stop();
  });
});
