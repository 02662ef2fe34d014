/**
 * Any order of requests, withdrawals, restarts and lost devices: the highest valid request within the bounds of all holds,
 * and after silence the safe command does within a minute. Beside the real thing runs a plain model of these sentences.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Arbitrary,
  array,
  assert as holds,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  oneof,
  option,
  record,
} from 'fast-check';
import { chance, runs } from '../../support/runs.ts';
import { type OutputBench, startOutputs } from './support.ts';

const RULES = ['a', 'b', 'c', 'd'] as const;
/** A command is at the device after the pause between two, or between two attempts. */
const STEP_S = 12;
const GRACE_S = 45;

const rule = constantFrom(...RULES);
const amperes = integer({ min: 6, max: 32 });
const action = oneof(
  {
    weight: 8,
    arbitrary: record({
      kind: constant('ask' as const),
      rule,
      current: option(amperes, { freq: 3 }),
      priority: integer({ min: 0, max: 3 }),
      // None of them ends shortly before the next check.
      validS: constantFrom(5, 20, 45, 100, 500),
      max: option(amperes, { freq: 2 }),
      min: option(amperes, { freq: 2 }),
    }),
  },
  { weight: 2, arbitrary: record({ kind: constant('release' as const), rule }) },
  { weight: 1, arbitrary: record({ kind: constant('stop' as const), rule }) },
  { weight: 1, arbitrary: record({ kind: constant('end' as const), rule }) },
  { weight: 1, arbitrary: record({ kind: constant('restart' as const) }) },
  {
    weight: 1,
    arbitrary: record({ kind: constant('online' as const), isOnline: constantFrom(true, false) }),
  },
  { weight: 4, arbitrary: record({ kind: constant('pass' as const), steps: integer({ min: 1, max: 6 }) }) },
);
type Action = typeof action extends Arbitrary<infer Value> ? Value : never;
type Asked = Action & { kind: 'ask' };

interface Entry extends Asked {
  untilS: number;
  order: number;
}

/** The sentences of the manual, written down once more. */
class Model {
  readonly #entries = new Map<string, Entry>();
  #order = 0;
  /** Somebody asked since the output was at its safe command. */
  isHeld = false;
  /** While rules come back after a restart, the former value may stay. */
  unsureUntilS = 0;

  apply(given: Action, nowS: number): void {
    if (given.kind === 'ask') {
      const order = this.#valid(nowS).find((entry) => entry.rule === given.rule)?.order ?? ++this.#order;
      this.#entries.set(given.rule, { ...given, order, untilS: nowS + given.validS });
      if (given.current !== null) this.isHeld = true;
    }
    if (given.kind === 'release' || given.kind === 'stop') this.#entries.delete(given.rule);
    const ended = given.kind === 'end' ? this.#entries.get(given.rule) : undefined;
    if (ended) ended.untilS = Math.min(ended.untilS, nowS + GRACE_S);
    if (given.kind === 'restart') {
      this.#entries.clear();
      this.unsureUntilS = nowS + GRACE_S + STEP_S;
    }
  }

  /** Undefined: nothing was ever asked for. */
  expected(nowS: number): string | undefined {
    const entries = this.#valid(nowS);
    const asking = entries
      .filter(({ current }) => current !== null)
      .toSorted((a, b) => b.priority - a.priority || a.order - b.order);
    if (!this.isHeld) return undefined;
    const first = asking[0];
    if (!first) return 'stop';
    let current = first.current ?? 0;
    for (const { min } of entries) if (min !== null) current = Math.max(current, min);
    for (const { max } of entries) if (max !== null) current = Math.min(current, max);
    return `set_current ${current}`;
  }

  isSilent(nowS: number): boolean {
    return this.#valid(nowS).every(({ current }) => current === null);
  }

  #valid(nowS: number): Entry[] {
    return [...this.#entries.values()].filter(({ untilS }) => untilS > nowS);
  }
}

function perform(bench: OutputBench, given: Action): void {
  switch (given.kind) {
    case 'ask': {
      const { current, priority, validS, max, min } = given;
      const bounds = {
        ...(max !== null && { max: { current: max } }),
        ...(min !== null && { min: { current: min } }),
      };
      const options = { priority, valid_s: validS, safe: 'stop', ...bounds };
      bench.ask(given.rule, 'set_current', current === null ? null : { current }, options);
      return;
    }
    case 'release':
      return bench.outputs.release({ id: given.rule, slug: given.rule }, bench.charger, 'set_current', null);
    case 'stop':
      return bench.outputs.ruleStopped(given.rule);
    case 'end':
      return bench.outputs.ruleEnded(given.rule);
    case 'restart':
      return bench.restartOutputs();
    case 'online':
      return bench.setListening(bench.charger, given.isOnline ? 1 : 0);
    case 'pass':
  }
}

test('an output always has the highest valid request within the bounds, and its safe command a minute after the last', async (t) => {
  await holds(
    asyncProperty(array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
      const bench = await startOutputs(t);
      const model = new Model();
      let nowS = 0;
      let isOnline = true;
      const pass = async (durationS: number): Promise<void> => {
        for (let passedS = 0; passedS < durationS; passedS++) await bench.clock.advance(1_000);
        nowS += durationS;
      };
      for (const given of actions) {
        perform(bench, given);
        model.apply(given, nowS);
        if (given.kind === 'online') isOnline = given.isOnline;
        const former = bench.value();
        for (let step = 0; step < (given.kind === 'pass' ? given.steps : 1); step++) {
          await pass(STEP_S);
          const expected = model.expected(nowS);
          if (!isOnline || (nowS <= model.unsureUntilS && bench.value() === former)) continue;
          assert.equal(bench.value(), expected, `${JSON.stringify(given)} at ${nowS} s`);
        }
      }
      perform(bench, { kind: 'online', isOnline: true });
      for (const each of RULES) {
        perform(bench, { kind: 'end', rule: each });
        model.apply({ kind: 'end', rule: each }, nowS);
      }
      await pass(60);
      assert.ok(model.isSilent(nowS));
      assert.equal(bench.value(), model.expected(nowS), 'the safe command within a minute');
      const arrivedS = bench.arrived.map(({ atS }) => atS);
      const pausesS = arrivedS.slice(1).map((atS, index) => atS - (arrivedS[index] ?? 0));
      assert.ok(
        pausesS.every((pauseS) => pauseS >= 1),
        'never more than one command a second',
      );
    }),
    { numRuns: runs(15), ...chance() },
  );
});
