/** Logs of rules: docs/interface/lua-rules.md#logs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RuleLogEntry } from '../../../src/capabilities/rules/model.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { ALL, newRule, type Records, startRecords } from './support.ts';

const { logsPerSecond, ownLogsPerSecond, logEntries } = LIMITS.rules;
/** What the sandbox lets through at once. */
const MOST = logsPerSecond + 2 * ownLogsPerSecond;

/** Entries as fast as they are taken, all stored. */
async function write({ rules, clock }: Records, ruleId: string, count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    rules.logs.append(ruleId, 'info', `m${number}`);
    if (number % logsPerSecond === logsPerSecond - 1) await clock.advance(1_000);
  }
  await clock.advance(1_000);
}

test('log entries of rules are read at once, also those that wait for the disk, in pages that fit', async (t) => {
  const { rules, clock } = await startRecords(t);
  const [rule, other] = [rules.create(newRule('a')), rules.create(newRule('b'))];
  const read = (limit: number, offset: number, severities?: ['warning']): string[] =>
    rules.logs.list(rule.id, { severities, limit, offset }).entries.map(({ message }) => message);
  rules.logs.append(rule.id, 'info', 'stored');
  await clock.advance(1_000);
  rules.logs.append(rule.id, 'warning', 'fresh');
  rules.logs.append(other.id, 'warning', 'of another');
  rules.logs.append(rule.id, 'info', 'fresher');
  for (const wait of [false, true]) {
    if (wait) await clock.advance(1_000);
    assert.deepEqual(read(10, 0), ['stored', 'fresh', 'fresher']);
    assert.deepEqual(read(2, 0), ['fresh', 'fresher']);
    assert.deepEqual(read(2, 1), ['stored', 'fresh']);
    assert.deepEqual(read(2, 2), ['stored']);
    assert.deepEqual(read(10, 0, ['warning']), ['fresh']);
    assert.equal(rules.logs.list(rule.id, { severities: undefined, limit: 0, offset: 0 }).totalCount, 3);
  }
});

test('a follower of all logs misses nothing when the rule that wrote last is deleted', async (t) => {
  const records = await startRecords(t);
  const { rules } = records;
  const [rule, last] = [rules.create(newRule('a')), rules.create(newRule('b'))];
  await write(records, rule.id, 2);
  await write(records, last.id, 3);
  const number = rules.logs.newestNumber();
  rules.remove([last.id]);
  assert.equal(rules.logs.newestNumber(), number);
  rules.logs.append(rule.id, 'info', 'next');
  await records.clock.advance(1_000);
  assert.deepEqual(
    rules.logs.after(number, 10).map((entry) => [entry.number, entry.message]),
    [[number + 1, 'next']],
  );
});

describe('a log entry that is dropped', () => {
  test('log entries beyond the rate are dropped, and one warning counts them; another rule is not affected', async (t) => {
    const records = await startRecords(t);
    const [loud, calm] = [records.rules.create(newRule('loud')), records.rules.create(newRule('calm'))];
    for (let number = 0; number < MOST + 30; number++)
      records.rules.logs.append(loud.id, 'info', `m${number}`);
    records.rules.logs.append(calm.id, 'info', 'fine');
    await records.clock.advance(2_100);
    const messages = records.messages(loud);
    assert.equal(messages.length, MOST + 1);
    assert.equal(messages[MOST - 1], `m${MOST - 1}`);
    assert.equal(messages.at(-1), '30 log entries were dropped: a rule may write 50 per second.');
    assert.deepEqual(records.messages(calm), ['fine']);
    assert.match(await records.metrics.text(), /rule_logs_dropped_total\{reason="rate"\} 30/);
    records.rules.logs.append(loud.id, 'info', 'again');
    await records.clock.advance(1_000);
    assert.equal(records.messages(loud).at(-1), 'again');
  });

  test('a log entry that is dropped is summarised also when the gateway stops', async (t) => {
    const records = await startRecords(t);
    const rule = records.rules.create(newRule('a'));
    for (let number = 0; number <= MOST; number++) records.rules.logs.append(rule.id, 'info', 'm');
    await records.restart();
    assert.equal(
      records.messages(rule).at(-1),
      '1 log entries were dropped: a rule may write 50 per second.',
    );
  });

  test('a log entry that is dropped does not fit the buffer while the disk takes nothing; what fitted is stored when it does again', async (t) => {
    const records = await startRecords(t, { commits: { bufferedBytes: 10 } });
    const rule = records.rules.create(newRule('a'));
    records.history
      .prepare(`CREATE TRIGGER full BEFORE INSERT ON rule_log BEGIN SELECT raise(ABORT, 'disk full'); END`)
      .run();
    records.rules.logs.append(rule.id, 'info', '12345678');
    await records.clock.advance(3_000);
    records.rules.logs.append(rule.id, 'info', 'no room');
    await records.clock.advance(3_000);
    assert.deepEqual(records.messages(rule), ['12345678']);
    records.history.prepare('DROP TRIGGER full').run();
    await records.clock.advance(3_000);
    assert.deepEqual(records.messages(rule), ['12345678']);
    assert.match(await records.metrics.text(), /rule_logs_dropped_total\{reason="disk"\} 1/);
  });

  test('a log entry that is dropped is of a rule that does not exist', async (t) => {
    const records = await startRecords(t);
    records.rules.logs.append('nobody', 'info', 'x');
    await records.clock.advance(1_000);
    assert.deepEqual(records.messages({ id: 'nobody' }), []);
  });
});

describe('logs of a rule', () => {
  test('logs of a rule are told after they are on disk, in order, cut to the limit at a whole character', async (t) => {
    const records = await startRecords(t);
    const rule = records.rules.create(newRule('a'));
    const told: RuleLogEntry[] = [];
    records.rules.events.on('log_entry', 'test', ({ entry }) => void told.push(entry));
    const receivedAtMs = records.clock.wallMs();
    records.rules.logs.append(rule.id, 'warning', `x${'é'.repeat(4_000)}`);
    records.rules.logs.append(rule.id, 'debug', 'lone \ud800 surrogate');
    assert.deepEqual(told, []);
    await records.clock.advance(1_000);
    const { entries } = records.rules.logs.list(rule.id, ALL);
    assert.deepEqual(told, entries);
    assert.deepEqual(entries, [
      { ruleId: rule.id, receivedAtMs, severity: 'warning', message: `x${'é'.repeat(2_047)}` },
      { ruleId: rule.id, receivedAtMs, severity: 'debug', message: 'lone \ufffd surrogate' },
    ]);
  });

  test('logs of a rule are listed newest first by pages, each page in order of time, by severity', async (t) => {
    const records = await startRecords(t);
    const rule = records.rules.create(newRule('a'));
    for (const severity of ['debug', 'info', 'error', 'info', 'error'] as const)
      records.rules.logs.append(rule.id, severity, severity);
    await records.clock.advance(1_000);
    const page = (severities: readonly ('error' | 'info')[] | undefined, limit: number, offset = 0) => {
      const { entries, totalCount } = records.rules.logs.list(rule.id, { severities, limit, offset });
      return [entries.map(({ message }) => message).join(' '), totalCount];
    };
    assert.deepEqual(page(undefined, 2), ['info error', 5]);
    assert.deepEqual(page(undefined, 2, 3), ['debug info', 5]);
    assert.deepEqual(page(['error', 'info'], 3), ['error info error', 4]);
    assert.deepEqual(page(['error'], 50, 1), ['error', 2]);
  });

  test('logs of a rule are the newest thousand and few more; another rule keeps its own', async (t) => {
    const records = await startRecords(t);
    const [rule, other] = [records.rules.create(newRule('a')), records.rules.create(newRule('b'))];
    await write(records, other.id, 1);
    await write(records, rule.id, logEntries + 500);
    const messages = records.messages(rule);
    assert.ok(messages.length >= logEntries && messages.length < logEntries + 150, `${messages.length}`);
    assert.equal(messages.at(-1), `m${logEntries + 499}`);
    assert.equal(messages.at(-logEntries), 'm500');
    assert.deepEqual(records.messages(other), ['m0']);
  });

  test('logs of a rule survive a restart, also those written just before it', async (t) => {
    const records = await startRecords(t);
    const rule = records.rules.create(newRule('a'));
    records.rules.logs.append(rule.id, 'info', 'last');
    await records.restart();
    assert.deepEqual(records.messages(rule), ['last']);
  });

  test('logs of a rule go with the rule, also those on their way to the disk; a leftover goes at the next start', async (t) => {
    const records = await startRecords(t);
    const [rule, other] = [records.rules.create(newRule('a')), records.rules.create(newRule('b'))];
    await write(records, rule.id, 1);
    records.rules.logs.append(rule.id, 'info', 'on its way');
    records.rules.logs.append(other.id, 'info', 'kept');
    records.rules.remove([rule.id]);
    await records.clock.advance(1_000);
    assert.deepEqual(records.messages(rule), []);
    assert.deepEqual(records.messages(other), ['kept']);
    records.history.prepare(`UPDATE rule_log SET rule_id = 'gone'`).run();
    await records.restart();
    assert.deepEqual(records.messages({ id: 'gone' }), []);
  });
});
