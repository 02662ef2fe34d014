/**
 * The script zoo: hostile scripts on real threads, each beside a neighbour on the same thread. Whatever they do,
 * they end within their limit and say why, and the neighbour goes on.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { STUCK_BOMB, SCRIPT_ZOO } from '../../../scripts/support/script-zoo.ts';
import { superviseRules, type SupervisedRules } from '../../support/rule-supervisor.ts';
import { until } from '../../support/until.ts';

/** A third of the real ones, so that the zoo is through in seconds. */
const QUICK = { nativeMs: 150, turnMs: 200, stuckMs: 350, watchIntervalMs: 20 };
const NEIGHBOUR = 'scheduler.add(50, function() enapter.log("tick") end)';

describe('the script zoo', () => {
  let rules: SupervisedRules;
  before(async () => {
    const limits = {
      // No animal is to be taken for stuck because the machine has much else to do.
      lua: { ...QUICK, stuckMs: 1_500, processorBurstMs: 300 },
      rules: { threads: 1, restartFirstMs: 60_000 },
    };
    rules = superviseRules({ limits });
    rules.start('neighbour', NEIGHBOUR);
    await rules.heard('neighbour', /tick/);
  });
  after(() => rules.stop());

  for (const [number, { animal, code, says, fate }] of SCRIPT_ZOO.entries())
    test(`the script ${animal} ends in time with the reason, and its neighbour goes on`, async () => {
      const id = `animal-${number}`;
      const ticksBefore = rules.said.filter(({ message }) => message === 'tick').length;
      rules.start(id, code);
      await rules.heard(id, says);
      if (fate === 'stuck') await rules.heard('neighbour', new RegExp(`rule slug-${id} was stuck`));
      if (fate !== 'alive') await until(() => rules.states(id).at(-1) === 'STOPPED');
      await until(() => rules.said.filter(({ message }) => message === 'tick').length > ticksBefore + 2);
      rules.supervisor.receive({ type: 'stop', ruleId: id });
      assert.equal(rules.states('neighbour').at(-1), 'STARTED');
    });

  test('the script zoo causes no internal error', () => {
    assert.deepEqual(
      rules.lines.filter(({ level }) => level === 'error'),
      [],
    );
  });
});

describe('a rule that got stuck', () => {
  test('a rule that got stuck starts again on a thread of its own, so that its neighbours pay once', async () => {
    const limits = { lua: QUICK, rules: { threads: 1, restartFirstMs: 50, restartMaxMs: 100 } };
    const rules = superviseRules({ limits });
    rules.start('neighbour', NEIGHBOUR);
    await rules.heard('neighbour', /tick/);
    rules.start('bomb', STUCK_BOMB);
    await rules.heard('bomb', /^execution time exceeded: stuck/, 3);
    assert.equal(rules.said.filter(({ message }) => /starts again/.test(message)).length, 1);
    assert.ok(rules.said.some(({ message }) => message === 'rule restarts in 0.05 s'));
    await rules.stop();
  });

  test('a rule that got stuck shares a thread with others like it when threads run out', async () => {
    const limits = {
      lua: QUICK,
      rules: { threads: 1, solitaryThreads: 1, restartFirstMs: 50, restartMaxMs: 100 },
    };
    const rules = superviseRules({ limits });
    rules.start('neighbour', NEIGHBOUR);
    await rules.heard('neighbour', /tick/);
    for (const id of ['bomb-1', 'bomb-2']) rules.start(id, STUCK_BOMB);
    const shared = /starts again, because its thread was ended: rule slug-bomb-\d was stuck/;
    const isShared = (count: number): boolean =>
      rules.said.filter(({ ruleId, message }) => ruleId.startsWith('bomb') && shared.test(message)).length >=
      count;
    await until(() => isShared(2));
    const paid = rules.said.filter(({ ruleId, message }) => ruleId === 'neighbour' && shared.test(message));
    assert.ok(paid.length <= 2, 'once for each of them');
    await rules.stop();
  });

  test('a rule that got stuck is distinguished from its neighbours by the limits of the product too', async () => {
    const rules = superviseRules();
    rules.start('neighbour', NEIGHBOUR);
    rules.start('other', NEIGHBOUR);
    await Promise.all([rules.heard('neighbour', /tick/), rules.heard('other', /tick/)]);
    rules.start('bomb', STUCK_BOMB);
    await rules.heard('bomb', /^execution time exceeded: stuck/);
    await rules.stop();
  });
});
