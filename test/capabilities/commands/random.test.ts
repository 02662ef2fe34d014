/**
 * Any order of answers, silence, full disk, clock jumps and restarts: what was acknowledged is on disk, an
 * end is final, and no request is sent twice.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  array,
  assert as holds,
  asyncProperty,
  constantFrom,
  integer,
  oneof,
  record,
  constant,
} from 'fast-check';
import type { Execution } from '../../../src/capabilities/commands/index.ts';
import { isFinished } from '../../../src/capabilities/commands/model.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { type Bench, startBench } from './support.ts';
import { runs } from '../../support/runs.ts';

const RUNS = runs(20);
const EXECUTIONS = 3;

const action = oneof(
  {
    weight: 6,
    arbitrary: record({
      kind: constant('answer' as const),
      execution: integer({ min: 0, max: EXECUTIONS - 1 }),
      word: constantFrom('log', 'started', 'completed', 'error', 'Warming'),
      qos: constantFrom(0 as const, 1 as const),
    }),
  },
  { weight: 2, arbitrary: record({ kind: constant('redeliver' as const) }) },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('pass' as const),
      durationMs: constantFrom(5, 20, 1_000, 30_000, 61_000),
    }),
  },
  {
    weight: 1,
    arbitrary: record({ kind: constant('jump' as const), jumpMs: constantFrom(-3_600_000, 7_200_000) }),
  },
  { weight: 1, arbitrary: record({ kind: constant('disk' as const), full: constantFrom(true, false) }) },
  { weight: 1, arbitrary: record({ kind: constant('restart' as const) }) },
);

const FULL = "CREATE TRIGGER full BEFORE INSERT ON execution_response BEGIN SELECT RAISE(ABORT, 'full'); END";

interface Sent {
  id: string;
  body: { state: string; payload: { n: number } };
}

/** The test's own notes of what the gateway promised. */
interface Ledger {
  acknowledged: Sent[];
  ends: Map<string, Execution>;
}

/** A clock that was put right moves stamps; nothing else of an end changes. */
function timeless({ createdAtMs: _created, response, ...rest }: Execution): object {
  return { ...rest, response: response && { ...response, receivedAtMs: 0 } };
}

function check(bench: Bench, ledger: Ledger): void {
  assert.equal(bench.sent.length, EXECUTIONS, 'no request is sent again');
  for (const { id } of bench.sent) {
    const execution = bench.stored({ id });
    assert.ok(execution);
    const end = ledger.ends.get(id);
    if (end) assert.deepEqual(timeless(execution), timeless(end), 'an end on disk is final');
    else if (isFinished(execution.state)) ledger.ends.set(id, execution);
    const times = bench.commands.log(id).map(({ receivedAtMs }) => receivedAtMs);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
  }
  for (const { id, body } of ledger.acknowledged) {
    const times = bench.commands.log(id).filter(({ payload }) => payload.n === body.payload.n).length;
    assert.equal(times, 1, `the acknowledged answer ${body.payload.n} stands in the log once`);
  }
}

describe('whatever happens to executions', () => {
  test('executions keep acknowledged answers once, stay in their end state, and send requests once', async (t) => {
    await holds(
      asyncProperty(array(action, { maxLength: 30 }), async (actions) => {
        const bench = await startBench(t);
        const device = bench.addDevice({ commands: { ping: {} } });
        for (let i = 0; i < EXECUTIONS; i++) await bench.run(device, 'ping');
        const ledger: Ledger = { acknowledged: [], ends: new Map() };
        let unacknowledged: Sent[] = [];
        let n = 0;
        const deliver = (sent: Sent, qos: 0 | 1, duplicate: boolean): void => {
          const delivered = bench.deliver(
            device,
            'command_responses',
            { id: sent.id, ...sent.body },
            { qos, duplicate },
          );
          if (qos === 0) return;
          unacknowledged.push(sent);
          delivered.then(
            () => {
              unacknowledged = unacknowledged.filter((other) => other !== sent);
              if (!ledger.acknowledged.includes(sent)) ledger.acknowledged.push(sent);
            },
            () => undefined,
          );
        };

        for (const step of actions) {
          if (step.kind === 'answer') {
            const id = bench.sent[step.execution]?.id ?? '';
            deliver({ id, body: { state: step.word, payload: { n: ++n } } }, step.qos, false);
          } else if (step.kind === 'redeliver') {
            const again = unacknowledged;
            unacknowledged = [];
            for (const sent of again) deliver(sent, 1, true);
          } else if (step.kind === 'pass') await bench.clock.advance(step.durationMs);
          else if (step.kind === 'jump') bench.clock.step(step.jumpMs);
          else if (step.kind === 'disk') {
            bench.state.prepare('DROP TRIGGER IF EXISTS full').run();
            if (step.full) bench.state.prepare(FULL).run();
          } else await bench.restart();
          check(bench, ledger);
        }
        bench.state.prepare('DROP TRIGGER IF EXISTS full').run();
        await bench.clock.advance(LIMITS.commands.timeoutMs + 2 * LIMITS.commits.retryMs);
        check(bench, ledger);
        assert.equal(ledger.ends.size, EXECUTIONS, 'every execution ends');
      }),
      { numRuns: RUNS },
    );
  });
});
