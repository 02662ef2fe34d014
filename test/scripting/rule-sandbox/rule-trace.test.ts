import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { RunCause, TracedRun } from '../../../src/protocol/rule-trace.ts';
import { RuleTrace } from '../../../src/scripting/rule-sandbox/rule-trace.ts';
import { answers, ok, refused, startRule } from '../../support/rule-run.ts';
import { TestClock } from '../../support/test-clock.ts';

type Options = NonNullable<Parameters<typeof startRule>[1]>;

function startTraced(
  code: string,
  options: Options & { isOn?: boolean; mainCause?: RunCause; trace?: never } = {},
) {
  const clock = new TestClock();
  const trace = new RuleTrace({
    clock,
    limits: LIMITS.rules.trace,
    isOn: options.isOn ?? true,
    mainCause: options.mainCause ?? 'start',
  });
  const rule = startRule(code, { ...options, clock, trace });
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await rule.idle();
  };
  return { clock, trace, rule, pass };
}

/** A run as one line. */
function line({ cause, steps, error }: TracedRun): string {
  const done = steps.map(({ kind, name, arguments: given, result, error: fault }) =>
    [kind, name, given, result, fault && `(${fault})`]
      .filter((part) => part !== undefined)
      .map((part) => (typeof part === 'object' ? JSON.stringify(part) : String(part)))
      .join(' '),
  );
  return [`${cause}:`, ...done, ...(error === undefined ? [] : [`! ${error}`])].join(' | ');
}

const SURPLUS = `
  local meter, car = enapter.device('battery'), enapter.device('battery')
  local function look()
    local power = meter.telemetry.now('power')
    if power and power < 0 then car.execute_command('charge', { current = math.floor(-power / 230) }) end
  end
  scheduler.add(10000, look)
`;

const values = (power: () => number) =>
  answers({
    latest: () => ok({ value: power(), timestampMs: 0 }),
    properties: () => ok({}),
    execute: () => ok({}),
  });

describe('the trace of a rule', () => {
  const { changes, others, steps, valueLength, length } = LIMITS.rules.trace;

  test('the trace of a rule has the values that a run read and the commands that it sent, newest run first', async () => {
    let power = 500;
    const { trace, rule, pass } = startTraced(SURPLUS, { answers: values(() => power) });
    await rule.idle();
    await pass(10_000);
    power = -3_200;
    await pass(10_000);
    assert.deepEqual(trace.runs().map(line), [
      'schedule: | telemetry power -3200 | command charge {"current":13} {}',
      'schedule: | telemetry power 500',
      'start:',
    ]);
    assert.equal(typeof trace.runs()[0]?.durationMs, 'number');
  });

  test('the trace of a rule is empty where it is off, and goes on when it is switched on', async () => {
    const { trace, rule, pass } = startTraced(SURPLUS, { isOn: false, answers: values(() => 1) });
    await rule.idle();
    await pass(10_000);
    assert.deepEqual(trace.runs(), []);
    trace.isOn = true;
    await pass(10_000);
    assert.deepEqual(trace.runs().map(line), ['schedule: | telemetry power 1']);
  });

  test('the trace of a rule says why a value, a device or a command was missing', async () => {
    const { trace, rule } = startTraced(
      `enapter.device('nothing') local meter = enapter.device('battery')
       meter.telemetry.now('power') meter.property('vendor') meter.execute_command('go') error('boom', 0)`,
      {
        answers: answers({
          find_device: ({ idOrSlug }: { idOrSlug: string }) =>
            idOrSlug === 'nothing'
              ? refused('device "nothing" not found')
              : ok({ id: idOrSlug, slug: idOrSlug, name: idOrSlug, type: 'LUA' }),
          latest: () => refused('device is offline'),
          property: () => ok(null),
          execute: () => refused('timeout'),
        }),
      },
    );
    await rule.idle();
    assert.deepEqual(trace.runs().map(line), [
      'start: | device nothing (device "nothing" not found) | telemetry power (device is offline) | ' +
        'property vendor null | command go {} (timeout) | ! boom',
    ]);
  });

  test('the trace of a rule has the value with which a function of an event was called', async () => {
    const { trace, rule } = startTraced(
      `enapter.device('battery').telemetry.on_update('power', function(power) if power < 0 then error('no', 0) end end)`,
      { answers: answers({ watch: () => ok(null) }) },
    );
    await rule.idle();
    rule.run.changed({ watchId: 1, value: -5, timestampMs: 0 });
    await rule.idle();
    assert.equal(trace.runs().map(line)[0], 'event: | event power -5 | ! no');
  });

  test('the trace of a rule keeps runs that acted differently longer than those that did the same again', async () => {
    let power = 500;
    const { trace, rule, pass } = startTraced(SURPLUS, { answers: values(() => power) });
    await rule.idle();
    power = -3_200;
    await pass(10_000);
    power = 500;
    for (let count = 0; count < others + 5; count++) await pass(10_000);
    const lines = trace.runs().map(line);
    assert.equal(lines.length, others + 1);
    assert.match(lines.at(-1) ?? '', /command charge/);
    power = -2_300;
    for (let count = 0; count < others; count++) await pass(10_000);
    // The first of them acted otherwise, the others did the same again.
    assert.equal(trace.runs().length, others + 2);
    for (let count = 0; count < changes + 5; count++) {
      power -= 230;
      await pass(10_000);
    }
    assert.equal(trace.runs().length, others + changes);
  });

  test('the trace of a rule keeps the newest steps of a run, and counts the others', async () => {
    const { trace, rule } = startTraced(
      `local meter = enapter.device('battery') for i = 1, ${steps + 7} do meter.telemetry.now('power') end`,
      { answers: values(() => 1) },
    );
    for (let count = 0; count < 5; count++) await rule.idle();
    const [run] = trace.runs();
    assert.equal(run?.steps.length, steps);
    assert.equal(run.leftOut, 7);
  });

  test('the trace of a rule cuts long texts and leaves out long values', async () => {
    const { trace, rule } = startTraced(
      `local meter = enapter.device('battery') meter.telemetry.now('text') meter.execute_command('go', { list = {('x'):rep(900)} })`,
      {
        answers: answers({
          latest: () => ok({ value: 'y'.repeat(2 * valueLength), timestampMs: 0 }),
          execute: () => ok({}),
        }),
      },
    );
    await rule.idle();
    const [read, command] = trace.runs()[0]?.steps ?? [];
    assert.equal(read?.result, 'y'.repeat(valueLength));
    assert.equal(read.isCut, true);
    assert.deepEqual([command?.arguments, command?.isCut], [undefined, true]);
  });

  test('the trace of a rule stays below its size, however much every run reads', async () => {
    const { trace, rule, pass } = startTraced(
      `local meter = enapter.device('battery')
       scheduler.add(1000, function() for i = 1, ${steps} do meter.telemetry.now('text') end end)`,
      { answers: answers({ latest: () => ok({ value: 'y'.repeat(valueLength), timestampMs: 0 }) }) },
    );
    await rule.idle();
    for (let count = 0; count < 30; count++) await pass(1_000);
    const size = JSON.stringify(trace.runs()).length;
    assert.ok(size > length / 2 && size < 2 * length, String(size));
  });

  test('the trace of a rule shows a main loop that goes on', async () => {
    const { trace, rule, pass } = startTraced(
      `local meter = enapter.device('battery') while true do meter.telemetry.now('power') system.delay(1000) end`,
      { answers: values(() => 7) },
    );
    await rule.idle();
    await pass(1_000);
    const [run] = trace.runs();
    assert.equal(run?.durationMs, undefined);
    assert.deepEqual(
      run?.steps.map(({ result }) => result),
      [7, 7],
    );
    rule.run.stop();
    assert.equal(trace.runs()[0]?.error, 'stopped');
  });
});

describe('a rule that is run by hand', () => {
  const runNow = async ({ trace, rule, pass }: ReturnType<typeof startTraced>, waitMs = 0) => {
    const before = trace.lastNumber;
    const outcome = rule.run.runNow((work) => trace.byHand(work));
    if (typeof outcome === 'string') return outcome;
    await rule.idle();
    if (waitMs > 0) await pass(waitMs);
    await outcome;
    return trace.runsByHand(before).map(line);
  };

  test('a run by hand runs every function of the schedule once, and is traced although the trace is off', async () => {
    const rule = startTraced(
      `${SURPLUS} scheduler.add_cron('0 3 * * *', function() enapter.device('battery').execute_command('stop') end)`,
      { isOn: false, answers: values(() => -460) },
    );
    await rule.rule.idle();
    assert.deepEqual(await runNow(rule), [
      'run_now: | command stop {} {}',
      'run_now: | telemetry power -460 | command charge {"current":2} {}',
    ]);
    rule.rule.run.stop();
  });

  test('calls functions of events with their last value when it has no others', async () => {
    const rule = startTraced(
      `enapter.device('battery').telemetry.on_update('power', function(power) print(power) end)`,
      { isOn: false, answers: answers({ watch: () => ok(null) }) },
    );
    await rule.rule.idle();
    assert.equal(await runNow(rule), 'nothing');
    rule.rule.run.changed({ watchId: 1, value: 41, timestampMs: 0 });
    await rule.rule.idle();
    assert.deepEqual(await runNow(rule), ['run_now: | event power 41']);
    assert.deepEqual(rule.rule.said(), ['41', '41']);
  });

  test('a rule that is run by hand is not run while its main part or a function of its schedule runs', async () => {
    const loop = startTraced('while true do system.delay(1000) end');
    await loop.rule.idle();
    assert.equal(await runNow(loop), 'running');
    const slow = startTraced('scheduler.add(1000, function() system.delay(5000) end)');
    await slow.rule.idle();
    await slow.pass(1_000);
    assert.equal(await runNow(slow), 'running');
    for (const { rule } of [loop, slow]) rule.run.stop();
  });

  test('a run by hand runs a V1 script once more, and by its interval afterwards', async () => {
    const rule = startTraced(`enapter.device('battery').telemetry.now('power')`, {
      rule: { runtimeVersion: 'V1', execIntervalMs: 60_000 },
      mainCause: 'interval',
      answers: values(() => 3),
    });
    for (let count = 0; count < 5; count++) await rule.pass(20);
    assert.deepEqual(await runNow(rule), ['run_now: | telemetry power 3']);
    await rule.pass(60_000);
    assert.deepEqual(
      rule.trace.runs().map(({ cause }) => cause),
      ['interval', 'run_now', 'interval'],
    );
    rule.rule.run.stop();
  });
});
