/** Table `rule_log` of history.db. */
import type { SqlDatabase } from '../../platform/sqlite/index.ts';
import { LOG_SEVERITIES, type LogSeverity } from '../../protocol/device-log.ts';
import type { RuleLogEntry } from './model.ts';

interface Row {
  rule_id: string;
  received_at_ms: number;
  severity: number;
  message: string;
}

export type RuleLogStore = ReturnType<typeof createRuleLogStore>;

export function createRuleLogStore(database: SqlDatabase) {
  const insert = database.prepare<[string, number, number, string]>(
    'INSERT INTO rule_log (rule_id, received_at_ms, severity, message) VALUES (?, ?, ?, ?)',
  );
  // Numbers only grow, so the newest are the highest.
  const trim = database.prepare<[string, string, number]>(
    `DELETE FROM rule_log WHERE rule_id = ? AND number <=
       (SELECT number FROM rule_log WHERE rule_id = ? ORDER BY number DESC LIMIT 1 OFFSET ?)`,
  );
  const matching = 'rule_id = :ruleId AND (:severities >> severity) & 1';
  const newest = database.prepare<object, Row>(
    `SELECT rule_id, received_at_ms, severity, message FROM rule_log WHERE ${matching}
     ORDER BY number DESC LIMIT :limit OFFSET :offset`,
  );
  const count = database.prepare<object, number>(`SELECT count(*) FROM rule_log WHERE ${matching}`).pluck();
  const removeRule = database.prepare<[string]>('DELETE FROM rule_log WHERE rule_id = ?');
  const total = database.prepare<[], number | null>('SELECT sum(size_bytes) FROM rule_log_size').pluck();
  const largest = database
    .prepare<[], string>('SELECT rule_id FROM rule_log_size ORDER BY size_bytes DESC LIMIT 1')
    .pluck();
  const removeOldest = database.prepare<[string, number]>(
    `DELETE FROM rule_log WHERE number IN
       (SELECT number FROM rule_log WHERE rule_id = ? ORDER BY number LIMIT ?)`,
  );
  const ruleIds = database.prepare<[], string>('SELECT DISTINCT rule_id FROM rule_log').pluck();

  return {
    insert: ({ ruleId, receivedAtMs, severity, message }: RuleLogEntry): void =>
      void insert.run(ruleId, receivedAtMs, LOG_SEVERITIES.indexOf(severity), message),
    /** Keeps the newest entries of a rule. */
    trim: (ruleId: string, kept: number): void => void trim.run(ruleId, ruleId, kept),
    /** Newest first. */
    newest: (
      ruleId: string,
      severities: readonly LogSeverity[] | undefined,
      limit: number,
      offset: number,
    ): RuleLogEntry[] =>
      newest.all({ ruleId, severities: maskOf(severities), limit, offset }).map((row) => ({
        ruleId: row.rule_id,
        receivedAtMs: row.received_at_ms,
        severity: LOG_SEVERITIES[row.severity] ?? 'info',
        message: row.message,
      })),
    count: (ruleId: string, severities: readonly LogSeverity[] | undefined): number =>
      count.get({ ruleId, severities: maskOf(severities) }) ?? 0,
    removeRule: (ruleId: string): void => void removeRule.run(ruleId),
    /** What all entries take, about. */
    totalBytes: (): number => total.get() ?? 0,
    /** The rule whose entries take the most. */
    largest: (): string | undefined => largest.get(),
    removeOldest: (ruleId: string, most: number): number => removeOldest.run(ruleId, most).changes,
    ruleIds: (): string[] => ruleIds.all(),
  };
}

/** Bit n stands for severity n. */
function maskOf(severities: readonly LogSeverity[] | undefined): number {
  return (severities ?? LOG_SEVERITIES).reduce(
    (mask, severity) => mask | (1 << LOG_SEVERITIES.indexOf(severity)),
    0,
  );
}
