import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { createModuleRequests } from '../../../src/capabilities/modules/script-requests.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { ToModule } from '../../../src/protocol/module.ts';
import { TestClock } from '../../support/test-clock.ts';

const board = { id: 'board' } as Device;
const other = { id: 'other' } as Device;

function setUp() {
  const clock = new TestClock();
  const sent: ToModule[] = [];
  const requests = createModuleRequests({
    clock,
    withinMs: LIMITS.module.configurationMs,
    send: (_, message) => void sent.push(message),
  });
  const ask = () =>
    requests.send(board, { type: 'configuration_read', channel_id: 'c1', group: 'connection' });
  const lastId = (): string => {
    const last = sent.at(-1);
    return last?.type === 'configuration_read' ? last.id : assert.fail();
  };
  return { clock, sent, requests, ask, lastId };
}

describe('a request to a module', () => {
  test('a request to a module has no answer when none comes in time, or the module is gone', async () => {
    const { clock, requests, ask } = setUp();
    const late = ask();
    await clock.advance(LIMITS.module.configurationMs);
    assert.equal(await late, undefined);
    const lost = ask();
    requests.giveUp(other);
    requests.giveUp(board);
    assert.equal(await lost, undefined);
  });

  test('a request to a module is not answered by another module, nor twice', async () => {
    const { requests, ask, lastId } = setUp();
    const asked = ask();
    const answer = { type: 'configuration_values', id: lastId(), values: { x: 1 } } as const;
    assert.equal(requests.settle(other, answer), false);
    assert.equal(requests.settle(board, answer), true);
    assert.equal(requests.settle(board, answer), false);
    assert.deepEqual(await asked, answer);
  });
});
