/** How the script of a rule begins, goes on and ends: docs/interface/lua-rules.md. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { answers, ok, refused, startRule } from '../../support/rule-run.ts';
import { settle, TestClock } from '../../support/test-clock.ts';

describe('the life of a V3 rule', () => {
  test('a V3 rule that does not compile is broken; one that raises has failed, with its traceback', async () => {
    const broken = startRule('x = = 1');
    const failed = startRule('local function f() error("bad") end\nf()');
    await Promise.all([broken.idle(), failed.idle()]);
    assert.equal(broken.ended(), 'broken');
    assert.deepEqual(broken.said(), ["main.lua:1: unexpected symbol near '='"]);
    assert.equal(failed.ended(), 'failed');
    assert.match(
      failed.said()[0] ?? '',
      /^main.lua:1: bad\nstack traceback:\n.*\n\tmain\.lua:1: in upvalue 'f'|local 'f'/,
    );
  });

  test('a V3 rule runs the chunk, then enapter.main, and finishes when no job is left', async () => {
    const clock = new TestClock();
    const rule = startRule(
      'print(1) function enapter.main() print(2) local id id = scheduler.add(1000, function() print(3) scheduler.remove(id) system.delay(500) print(4) end) end',
      { clock },
    );
    await rule.idle();
    await clock.advance(1_000);
    await rule.idle();
    assert.equal(rule.ended(), undefined);
    await clock.advance(500);
    await rule.idle();
    assert.equal(rule.ended(), 'finished');
    assert.deepEqual(rule.said(), ['1', '2', '3', '4']);
  });

  test('a V3 rule goes on after a job that fails or takes too long, and counts the same error', async () => {
    const clock = new TestClock();
    const rule = startRule(
      'scheduler.add(1000, function() error("no", 0) end) scheduler.add(1000, function() system.delay(1e9) end)',
      { clock },
    );
    await rule.idle();
    for (let second = 0; second < 70; second++) {
      await clock.advance(1_000);
      await settle();
    }
    await rule.idle();
    assert.equal(rule.ended(), undefined);
    const said = rule.said().map((text) => text.split('\n')[0]);
    assert.equal(said.filter((text) => text === 'no').length, 1);
    assert.ok(said.includes('60 times since 08:00: no'));
    assert.ok(said.some((line) => line?.startsWith('execution time exceeded: not finished within')));
    rule.run.stop();
  });

  test('a job of a V3 rule gets the timeout of its command before its own time is over', async () => {
    const clock = new TestClock();
    const rule = startRule(
      'local d = enapter.device("battery") scheduler.add(1000, function() print(d.execute_command("go")) end)',
      {
        clock,
        answers: answers({
          execute: ({ timeoutMs }: { timeoutMs: number }) =>
            clock.sleep(timeoutMs).then(() => refused('timeout')),
        }),
      },
    );
    await rule.idle();
    await clock.advance(1_000);
    await rule.idle();
    await clock.advance(LIMITS.lua.callMs - 200);
    await rule.idle();
    await clock.advance(100);
    rule.run.stop();
    assert.deepEqual(rule.said(), ['nil\ttimeout']);
  });

  test('the life of a V3 rule ends as failed when memory ends, in a job too', async () => {
    const clock = new TestClock();
    const rule = startRule('scheduler.add(1000, function() local s = "x" while true do s = s .. s end end)', {
      clock,
    });
    await rule.idle();
    await clock.advance(1_000);
    await rule.idle();
    assert.equal(rule.ended(), 'failed');
    assert.match(rule.said()[0] ?? '', /^not enough memory/);
  });

  test('a V3 rule stops in the middle of a wait, and nothing of it goes on', async () => {
    const clock = new TestClock();
    const rule = startRule('while true do print("tick") system.delay(1000) end', { clock });
    await rule.idle();
    await clock.advance(2_500);
    rule.run.stop();
    await clock.advance(10_000);
    assert.deepEqual(rule.said(), ['tick', 'tick', 'tick']);
    assert.equal(rule.ended(), undefined);
  });
});

describe('the life of a V1 rule', () => {
  const v1 = (execIntervalMs = 1_000) => ({ runtimeVersion: 'V1', execIntervalMs }) as const;

  test('a V1 rule runs from the top every interval with a fresh state; only storage survives', async () => {
    const clock = new TestClock();
    const rule = startRule(
      'n = (n or 0) + 1\nlocal runs = (storage.namespaced.read("runs") or 0) + 1\nstorage.namespaced.write("runs", runs)\nprint(n, runs, scheduler, runtime_version)',
      { clock, rule: v1() },
    );
    await rule.idle();
    for (let run = 0; run < 2; run++) {
      await clock.advance(1_000);
      await rule.idle();
    }
    rule.run.stop();
    assert.deepEqual(rule.said(), ['1\t1\tnil\tv1', '1\t2\tnil\tv1', '1\t3\tnil\tv1']);
  });

  test('a V1 rule skips runs while one goes on, aborts it after its time, and goes on', async () => {
    const clock = new TestClock();
    const rule = startRule('print(os.time()) system.delay(1e9)', { clock, rule: v1(4_000) });
    await rule.idle();
    for (let second = 0; second < 13; second++) {
      await clock.advance(1_000);
      await rule.idle();
    }
    rule.run.stop();
    const start = clock.wallMs() / 1_000 - 13;
    assert.deepEqual(rule.said(), [
      String(start),
      'execution time exceeded: not finished within 10 s, waiting included',
      String(start + 12),
    ]);
  });

  test('a V1 rule runs ten times a second at most', async () => {
    const clock = new TestClock();
    const rule = startRule('print("run")', { clock, rule: v1(0) });
    await rule.idle();
    for (let turn = 0; turn < 10; turn++) {
      await clock.advance(LIMITS.rules.execIntervalMinMs);
      await rule.idle();
    }
    rule.run.stop();
    assert.equal(rule.said().length, 11);
  });

  test('the life of a V1 rule has properties at hand, the id it was asked for, and the public store', async () => {
    const rule = startRule(
      'local d = enapter.device("battery") print(d.id, d.properties.model, d.telemetry.on_update)\n' +
        'storage.public.write("a", 1) print(storage.public.read("a"), TIMEZONE)',
      { rule: v1(), answers: answers({ properties: () => ok({ model: 'B1' }) }) },
    );
    await rule.idle();
    rule.run.stop();
    assert.deepEqual(rule.said(), ['battery\tB1\tnil', '1\t0']);
  });

  test('the life of a V1 rule goes on after errors of every kind, and stops only for what does not compile', async () => {
    const clock = new TestClock();
    const rule = startRule('print("run") local s = "x" while true do s = s .. s end', { clock, rule: v1() });
    await rule.idle();
    await clock.advance(1_000);
    await rule.idle();
    rule.run.stop();
    assert.equal(rule.said().filter((text) => text === 'run').length, 2);
    const broken = startRule('x = = 1', { rule: v1() });
    await broken.idle();
    assert.equal(broken.ended(), 'broken');
  });
});
