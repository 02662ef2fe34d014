import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { createModuleQuestions } from '../../../src/capabilities/modules/questions.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { ToModule } from '../../../src/protocol/module.ts';
import { TestClock } from '../../support/test-clock.ts';

const board = { id: 'board' } as Device;
const other = { id: 'other' } as Device;

function setUp() {
  const clock = new TestClock();
  const sent: ToModule[] = [];
  const questions = createModuleQuestions({
    clock,
    withinMs: LIMITS.module.configurationMs,
    send: (_, message) => void sent.push(message),
  });
  const ask = () =>
    questions.ask(board, { type: 'configuration_read', channel_id: 'c1', group: 'connection' });
  const lastId = (): string => {
    const last = sent.at(-1);
    return last?.type === 'configuration_read' ? last.id : assert.fail();
  };
  return { clock, sent, questions, ask, lastId };
}

describe('a question to a module', () => {
  test('has no answer when none comes in time, or the module is gone', async () => {
    const { clock, questions, ask } = setUp();
    const late = ask();
    await clock.advance(LIMITS.module.configurationMs);
    assert.equal(await late, undefined);
    const lost = ask();
    questions.giveUp(other);
    questions.giveUp(board);
    assert.equal(await lost, undefined);
  });

  test('is not answered by another module, nor twice', async () => {
    const { questions, ask, lastId } = setUp();
    const asked = ask();
    const answer = { type: 'configuration_values', id: lastId(), values: { x: 1 } } as const;
    assert.equal(questions.settle(other, answer), false);
    assert.equal(questions.settle(board, answer), true);
    assert.equal(questions.settle(board, answer), false);
    assert.deepEqual(await asked, answer);
  });
});
