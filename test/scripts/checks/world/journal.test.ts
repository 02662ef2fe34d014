import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ExecutionJournal,
  type ListedExecution,
} from '../../../../scripts/checks/world/execution-journal.ts';
import { Attempts, judgeList, Register } from '../../../../scripts/checks/world/journal.ts';

const RUN_STARTED_MS = Date.UTC(2026, 5, 1, 12);
const BEFORE = '2026-06-01T11:59:59.000000Z';
const AFTER = '2026-06-01T12:00:01.000000Z';

function kinds(problems: readonly { kind: string }[]): string[] {
  return problems.map(({ kind }) => kind);
}

describe('a journal of things', () => {
  const attempts = new Attempts<string>();
  for (const key of ['a', 'b', 'c']) attempts.attempt(key);
  attempts.acknowledge('a');
  attempts.acknowledge('b');
  const cases: [string, string[], string[]][] = [
    ['is content with what was acknowledged', ['a', 'b'], []],
    ['is content with what was not acknowledged being there too', ['a', 'b', 'c'], []],
    ['finds what is lost', ['b'], ['lost']],
    ['finds what is doubled', ['a', 'b', 'a'], ['doubled']],
    ['finds what is doubled without having been acknowledged', ['a', 'b', 'c', 'c'], ['doubled']],
    ['finds what was never sent', ['a', 'b', 'x'], ['wrong']],
  ];
  for (const [title, found, expected] of cases)
    it(title, () => {
      assert.deepEqual(kinds(judgeList(String, attempts, attempts.acknowledged(), found)), expected);
    });
});

describe('a journal of one value', () => {
  const register = (): Register => {
    const journal = new Register();
    for (const value of ['one', 'two', 'three']) journal.attempt(value);
    journal.acknowledge(1);
    return journal;
  };
  const cases: [string, unknown, number][] = [
    ['accepts the acknowledged value', 'two', 0],
    ['accepts a later one that was not acknowledged', 'three', 0],
    ['finds an older value', 'one', 1],
    ['finds a value nobody sent', 'four', 1],
    ['finds the value missing', undefined, 1],
  ];
  for (const [title, value, problems] of cases)
    it(title, () => {
      const journal = register();
      assert.equal(journal.judge('name', value, journal.floor).length, problems);
    });

  it('a journal of one value refuses a return of an earlier value', () => {
    const journal = register();
    assert.deepEqual(journal.judge('name', 'three', journal.floor), []);
    assert.deepEqual(kinds(journal.judge('name', 'two', journal.floor)), ['lost']);
  });

  it('a journal of one value knows nothing before the first attempt is acknowledged', () => {
    const journal = new Register();
    assert.deepEqual(journal.judge('name', 'anything', journal.floor), []);
    journal.attempt('one');
    assert.deepEqual(journal.judge('name', 'anything', journal.floor), []);
  });
});

describe('a journal of executions', () => {
  const listed = (changes: Partial<ListedExecution> = {}): ListedExecution => ({
    id: 'e1',
    state: 'SUCCESS',
    created_at: BEFORE,
    request: { arguments: { tag: 1 } },
    response: { state: 'SUCCEEDED', payload: { result: 1 } },
    log: [{ state: 'SUCCEEDED' }, { state: 'STARTED' }],
    ...changes,
  });
  /** One command that HTTP, device and broker all confirmed in run 1. */
  const confirmed = (): ExecutionJournal => {
    const journal = new ExecutionJournal();
    journal.called(1, 1);
    journal.delivered('e1', 1, 1);
    journal.completed('e1', 1);
    journal.answered(1, 'e1', 'SUCCESS');
    return journal;
  };
  const judge = (journal: ExecutionJournal, list: ListedExecution[]): string[] =>
    kinds(
      journal.judge(
        list,
        journal.snapshot(),
        (execution) => Number(execution.request.arguments['tag']),
        RUN_STARTED_MS,
      ),
    );

  it('a journal of executions accepts a confirmed execution', () =>
    assert.deepEqual(judge(confirmed(), [listed()]), []));

  it('a journal of executions finds a confirmed execution missing', () =>
    assert.deepEqual(judge(confirmed(), []), ['lost']));

  it('a journal of executions finds an execution listed twice', () => {
    assert.deepEqual(judge(confirmed(), [listed(), listed()]), ['doubled', 'doubled']);
  });

  it('a journal of executions finds two executions of one call', () => {
    assert.ok(judge(confirmed(), [listed(), listed({ id: 'e2', state: 'TIMEOUT' })]).includes('doubled'));
  });

  it('a journal of executions finds an acknowledged answer that did not count', () => {
    const journal = new ExecutionJournal();
    journal.called(1, 1);
    journal.delivered('e1', 1, 1);
    journal.completed('e1', 1);
    assert.deepEqual(judge(journal, [listed({ state: 'TIMEOUT', log: [{ state: 'ERROR' }] })]), ['lost']);
  });

  it('a journal of executions accepts a timeout when the answer came after a restart', () => {
    const journal = new ExecutionJournal();
    journal.called(1, 1);
    journal.delivered('e1', 1, 1);
    journal.completed('e1', 2);
    assert.deepEqual(judge(journal, [listed({ state: 'TIMEOUT', log: [{ state: 'ERROR' }] })]), []);
  });

  it('a journal of executions finds a command that reached the device twice, by one id or by two', () => {
    const twice = confirmed();
    twice.delivered('e1', 1, 2);
    assert.ok(judge(twice, [listed()]).includes('doubled'));
    const two = confirmed();
    two.delivered('e2', 1, 1);
    assert.ok(judge(two, [listed()]).includes('doubled'));
  });

  it('a journal of executions finds a success that the device knows nothing of', () => {
    const journal = new ExecutionJournal();
    journal.called(1, 1);
    assert.deepEqual(judge(journal, [listed()]), ['wrong']);
  });

  it('a journal of executions finds an execution that is still open after a restart, not one that is new', () => {
    const journal = new ExecutionJournal();
    journal.called(1, 1);
    journal.answered(1, 'e1', undefined);
    const open = { state: 'IN_PROGRESS', log: [] };
    assert.deepEqual(judge(journal, [listed(open)]), ['wrong']);
    assert.deepEqual(judge(journal, [listed({ ...open, created_at: AFTER })]), []);
  });

  it('a journal of executions finds a final state that changed', () => {
    const journal = confirmed();
    judge(journal, [listed()]);
    assert.ok(judge(journal, [listed({ state: 'ERROR' })]).includes('wrong'));
  });

  it('a journal of executions finds a refused command on record or at the device', () => {
    const journal = new ExecutionJournal();
    journal.called(1, 1);
    journal.refused(1);
    assert.ok(judge(journal, [listed()]).includes('wrong'));
    journal.delivered('e1', 1, 1);
    assert.deepEqual(judge(journal, []), ['wrong']);
  });

  it('a journal of executions finds a delivered command without a record', () => {
    assert.deepEqual(kinds(confirmed().judgeRecords(['e1'], [])), ['lost']);
    assert.deepEqual(confirmed().judgeRecords(['e1'], [listed()]), []);
  });
});
