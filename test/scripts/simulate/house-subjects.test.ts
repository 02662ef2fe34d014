/** Strategies that have a house at the grid with one thing to decide, and all of them through faults. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Commanded, faultsOf, FAULTS, judged } from '../../../scripts/simulate/house/faults.ts';
import { cheapest } from '../../../scripts/simulate/house/levels.ts';
import { peakCase } from '../../../scripts/simulate/house/peak.ts';
import { plotOf, traced } from '../../../scripts/simulate/house/plot.ts';
import { runRule } from '../../../scripts/simulate/house/rule-host.ts';
import { live, SUBJECTS, weekOf } from '../../../scripts/simulate/house/subjects.ts';
import { createWeek } from '../../../scripts/simulate/house/surroundings.ts';

const AT = { seed: 1, day: 100 };
const MINUTE_MS = 60_000;

describe('a strategy in a house with one thing to decide', () => {
  for (const subject of SUBJECTS)
    test(`${subject.id} keeps its limits, logs no error, and is worth less than perfect foresight and more than nothing`, async () => {
      const week = weekOf(subject, AT, 1);
      const of = async (rule: Parameters<typeof live>[0]) => live(rule, subject, week, AT);
      const [nothing, strategy, best] = [await of('nothing'), await of('strategy'), await of('optimum')];
      assert.ok(nothing && strategy);
      assert.deepEqual([strategy.errors, strategy.violations], [[], 0]);
      if (!best) return;
      assert.ok(best.cost <= strategy.cost + 0.02, `${best.cost} ${strategy.cost}`);
      // Without a limit more is exported, which pays; a sunny day needs no generator.
      if (!['export-limit', 'generator'].includes(subject.id))
        assert.ok(strategy.cost < nothing.cost, `${strategy.cost} ${nothing.cost}`);
    });

  test('grid-signal brings loads within the limit in five seconds, and a look every minute does not', async () => {
    const subject = SUBJECTS.find(({ id }) => id === 'grid-signal');
    assert.ok(subject);
    const week = weekOf(subject, AT, 1);
    assert.ok(((await live('plain', subject, week, AT))?.violations ?? 0) > 0);
    assert.ok(((await live('nothing', subject, week, AT))?.violations ?? 0) > 0);
  });
});

describe('perfect foresight over one store', () => {
  test('perfect foresight fills a store in the cheap step and empties it in the dear one', () => {
    const prices = [3, 1, 2, 9];
    const chosen = cheapest({
      steps: prices.length,
      levels: [0, 1, 2],
      start: 0,
      choices: 3,
      next: (step, level, choice) => {
        const change = [0, 1, -1][choice] ?? 0;
        if (level + change < 0 || level + change > 1) return undefined;
        return { level: level + change, cost: change * (prices[step] ?? 0) };
      },
      end: () => 0,
    });
    assert.deepEqual(chosen, [0, 1, 0, 2]);
  });
});

describe('faults in the simulated house', () => {
  test('each kind of fault comes twice a day, ends before the next one, and is the same for the same seed', () => {
    const plan = faultsOf(7, 1_000, 86_400_000);
    assert.deepEqual(plan, faultsOf(7, 1_000, 86_400_000));
    for (const kind of FAULTS) assert.equal(plan.filter((fault) => fault.kind === kind).length, 2, kind);
    for (const [index, { beginMs, endMs }] of plan.entries()) {
      assert.ok(beginMs <= endMs);
      assert.ok(endMs + MINUTE_MS < (plan[index + 1]?.beginMs ?? Number.POSITIVE_INFINITY));
    }
  });

  const at = (minute: number, name: string, value?: number) => ({
    atMs: minute * MINUTE_MS,
    device: 'charger',
    name,
    value,
  });
  const safe = [{ device: 'charger', name: 'stop', value: undefined }];
  const plan = [{ kind: 'kill' as const, beginMs: 30 * MINUTE_MS, endMs: 40 * MINUTE_MS, offsetMs: 0 }];
  const judge = (...sent: Commanded['sent']) =>
    judged(plan, { sent: [at(1, 'current', 10)], safe }, { sent, safe });

  test('an output that keeps its value for longer than a minute after a kill is counted', () => {
    const { unsafe, notes } = judge(at(1, 'current', 10));
    assert.equal(unsafe, 1);
    assert.deepEqual(notes, ['kill, unsafe at -29 min: charger current 10']);
    assert.equal(judge(at(1, 'current', 10), at(30.5, 'stop')).unsafe, 0);
  });

  test('a command after a fault that nobody else would give is counted as a jump', () => {
    const before = [at(1, 'current', 10), at(30.5, 'stop')] as const;
    assert.equal(judge(...before, at(40.5, 'current', 10)).jumps, 0);
    assert.equal(judge(...before, at(40.5, 'current', 16)).jumps, 1);
    assert.equal(judge(...before, at(40.5, 'boost')).jumps, 1);
    assert.equal(judge(...before, at(42, 'current', 16)).jumps, 0, 'the fault is over for long');
  });

  test('a strategy is safe in each kind of fault, and goes on without a jump', async () => {
    // test/library/strategies-faults.test.ts has all strategies with values that stay; here they change.
    for (const subject of SUBJECTS.filter(({ id }) => ['electrolyser', 'heat-pump'].includes(id))) {
      const open = () => subject.open(weekOf(subject, AT, 1), AT);
      const house = open();
      const faults = faultsOf(AT.seed, house.startMs, (subject.hours ?? 24) * 60 * MINUTE_MS);
      const undisturbed = await runRule({ code: subject.script(), house: open() });
      const disturbed = await runRule({ code: subject.script(), house }, faults);
      const { unsafe, jumps, notes } = judged(faults, undisturbed, disturbed, subject.silent);
      assert.deepEqual([unsafe, jumps, notes], [0, 0, []], subject.id);
    }
  });
});

test('a plot has a line for each value of the house, and words for it', async () => {
  const opened = peakCase(createWeek({ seed: 1, day: 20, days: 1, stepS: 10 }), 1);
  const trace = traced(opened.house);
  while (opened.house.step());
  const svg = plotOf('Peak', trace, 10);
  assert.equal(svg.match(/<polyline/g)?.length, 4);
  assert.match(svg, />battery soc</);
  assert.doesNotMatch(svg, /NaN|Infinity|undefined/);
  assert.ok(svg.length < 60_000);
});
