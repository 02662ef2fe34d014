/** Rows of the logs of rules. */
import { and, asc, desc, gt, sql, sum } from 'drizzle-orm';
import {
  countOf,
  given,
  highestOf,
  placeholders,
  removalOf,
  type SqlDatabase,
} from '../../platform/sqlite/index.ts';
import { LOG_SEVERITIES, type LogSeverity, severityMask } from '../../protocol/device-log.ts';
import type { RuleLogEntry } from './model.ts';
import { ruleLog, ruleLogSize } from './tables.ts';

const { number, ruleId, receivedAtMs, severity, message } = ruleLog;

const isOfRule = given(ruleId);

export function createRuleLogStore({ orm }: Pick<SqlDatabase, 'orm'>) {
  const isAsked = and(isOfRule, sql`(${sql.placeholder('severities')} >> ${severity}) & 1`);
  const insert = orm.insert(ruleLog).values(placeholders(ruleLog)).prepare();
  const newest = orm
    .select({ ruleId, receivedAtMs, severity, message })
    .from(ruleLog)
    .where(isAsked)
    .orderBy(desc(number))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .prepare();
  const counted = countOf(orm, ruleLog, isAsked);
  const after = orm
    .select({ number, ruleId, receivedAtMs, severity, message })
    .from(ruleLog)
    .where(gt(number, sql.placeholder('number')))
    .orderBy(asc(number))
    .limit(sql.placeholder('limit'))
    .prepare();
  const ruleIds = orm.selectDistinct({ ruleId }).from(ruleLog).prepare();

  return {
    insert: (entry: RuleLogEntry, entryNumber: number): void =>
      void insert.run({
        ...entry,
        number: entryNumber,
        severity: LOG_SEVERITIES.indexOf(entry.severity),
      }),
    /** Newest first. */
    newest: (
      rule: string,
      severities: readonly LogSeverity[] | undefined,
      limit: number,
      offset: number,
    ): RuleLogEntry[] =>
      newest.all({ ruleId: rule, severities: severityMask(severities), limit, offset }).map(entryOf),
    count: (rule: string, severities: readonly LogSeverity[] | undefined): number =>
      counted({ ruleId: rule, severities: severityMask(severities) }),
    /** Entries of all rules with a number above, in order. */
    after: (above: number, limit: number): (RuleLogEntry & { number: number })[] =>
      after.all({ number: above, limit }).map(entryOf),
    newestNumber: highestOf(orm, number),
    ruleIds: (): string[] => ruleIds.all().map((row) => row.ruleId),
    ...createCleaner(orm),
  };
}

function createCleaner(orm: SqlDatabase['orm']) {
  const ofRule = () => orm.select({ number }).from(ruleLog).where(isOfRule);
  // Numbers only grow, so the newest are the highest.
  const newestGone = ofRule().orderBy(desc(number)).limit(1).offset(sql.placeholder('kept'));
  const trim = orm
    .delete(ruleLog)
    .where(and(isOfRule, sql`${number} <= ${newestGone}`))
    .prepare();
  const oldest = ofRule().orderBy(number).limit(sql.placeholder('most'));
  const removeOldest = removalOf(orm, number, sql`${oldest}`);
  const removeRule = orm.delete(ruleLog).where(isOfRule).prepare();
  const total = orm
    .select({ sizeBytes: sum(ruleLogSize.sizeBytes).mapWith(Number) })
    .from(ruleLogSize)
    .prepare();
  const largest = orm
    .select({ ruleId: ruleLogSize.ruleId })
    .from(ruleLogSize)
    .orderBy(desc(ruleLogSize.sizeBytes))
    .limit(1)
    .prepare();
  return {
    /** Keeps the newest entries of a rule. */
    trim: (rule: string, kept: number): void => void trim.run({ ruleId: rule, kept }),
    removeOldest: (rule: string, most: number): number => removeOldest.run({ ruleId: rule, most }).changes,
    removeRule: (rule: string): void => void removeRule.run({ ruleId: rule }),
    /** Approximate size of all entries. */
    totalBytes: (): number => total.get()?.sizeBytes ?? 0,
    /** The rule with the largest log. */
    largest: (): string | undefined => largest.get()?.ruleId,
  };
}

function entryOf<Row extends { severity: number }>(row: Row) {
  const severity: LogSeverity = LOG_SEVERITIES[row.severity] ?? 'info';
  return { ...row, severity };
}
