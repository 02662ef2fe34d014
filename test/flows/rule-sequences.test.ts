/**
 * Whatever is done to rules one after another, without waiting in between: in the end each one runs exactly once
 * with its newest script, or not at all, as its flag and the engine say.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  array,
  assert as assertProperty,
  asyncProperty,
  constant,
  constantFrom,
  oneof,
  record,
} from 'fast-check';
import { until } from '../support/until.ts';
import { runs } from '../support/runs.ts';
import { RULES, startRuleGateway, type RuleGateway } from './rule-support.ts';

const ENGINE = '/v3/site/rule_engine';
const SLUGS = ['first', 'second'] as const;
/** The pause before the sandbox starts again doubles with each of them. */
const KILLS_MAX = 3;

type Step =
  | { do: 'enable' | 'disable' | 'update' | 'rename'; rule: 0 | 1 }
  | { do: 'suspend' | 'resume' | 'kill' };

interface Modelled {
  id: string;
  disabled: boolean;
  version: number;
}

const steps = array(
  oneof(
    record({
      do: constantFrom('enable' as const, 'disable' as const, 'update' as const, 'rename' as const),
      rule: constantFrom(0 as const, 1 as const),
    }),
    record({ do: constantFrom('suspend' as const, 'resume' as const) }),
    record({ do: constant('kill' as const) }),
  ),
  { minLength: 3, maxLength: 14 },
);

/** Two lives at once would tell the same number twice. */
const counting = (version: number): string =>
  `local n = 0 scheduler.add(100, function() n = n + 1 enapter.log('version ${version} ' .. n) end)`;

class World {
  readonly rules: RuleGateway;
  readonly modelled: Modelled[] = [];
  isSuspended = false;
  readonly #killed = new Set<number>();
  #names = 0;

  constructor(rules: RuleGateway) {
    this.rules = rules;
  }

  async add(slug: string): Promise<void> {
    await this.rules.create(slug, counting(1));
    const { rule } = await this.rules.gateway.ok('READONLY', 'GET', `${RULES}/${slug}`);
    this.modelled.push({ id: (rule as { id: string }).id, disabled: false, version: 1 });
  }

  async take(step: Step): Promise<void> {
    const { gateway } = this.rules;
    if (!('rule' in step)) {
      if (step.do === 'kill') return this.#kill();
      await gateway.ok('OWNER', 'POST', `${ENGINE}/${step.do}`);
      this.isSuspended = step.do === 'suspend';
      return;
    }
    const rule = this.modelled[step.rule];
    assert.ok(rule);
    if (step.do === 'update') {
      await this.rules.update(rule.id, counting(++rule.version));
    } else if (step.do === 'rename') {
      await gateway.ok('OWNER', 'PATCH', `${RULES}/${rule.id}`, { slug: `name-${++this.#names}` });
    } else {
      await gateway.ok('OWNER', 'POST', `${RULES}/${rule.id}/${step.do}`);
      rule.disabled = step.do === 'disable';
    }
  }

  /** No message arrives while the sandbox is not there. */
  #kill(): void {
    const pid = this.rules.sandboxPid();
    if (Number.isNaN(pid) || this.#killed.has(pid) || this.#killed.size >= KILLS_MAX) return;
    this.#killed.add(pid);
    process.kill(pid, 'SIGKILL');
  }

  /** @throws AssertionError when a rule does something else than the model */
  async judge(): Promise<void> {
    for (const { id, disabled, version } of this.modelled) {
      const runs = !disabled && !this.isSuspended;
      await this.rules.becomes(id, runs ? 'STARTED' : 'STOPPED');
      if (!runs) continue;
      const numbers = await this.#told(id, version);
      const first = numbers[0] ?? 0;
      assert.deepEqual(
        numbers,
        numbers.map((_, index) => first + index),
        'one life tells one number after another',
      );
    }
  }

  /** The newest few numbers, all of the newest script. */
  async #told(id: string, version: number): Promise<number[]> {
    const newest = async (): Promise<string[]> =>
      (await this.rules.messages(id)).filter((message) => message.startsWith('version ')).slice(-4);
    const own = `version ${version} `;
    // Messages of the last step are over once the present life has sent enough.
    await until(async () => {
      const told = await newest();
      return (
        told.length === 4 && told.every((message) => message.startsWith(own)) && !told.includes(`${own}1`)
      );
    });
    return (await newest()).map((message) => Number(message.slice(own.length)));
  }
}

test('after any sequence of changes and kills each rule runs once with its newest script, or not at all', async (t) => {
  const world = new World(await startRuleGateway(t));
  for (const slug of SLUGS) await world.add(slug);
  await assertProperty(
    asyncProperty(steps, async (sequence) => {
      for (const step of sequence) await world.take(step);
      await world.judge();
    }),
    { numRuns: runs(4), endOnFailure: true },
  );
});
