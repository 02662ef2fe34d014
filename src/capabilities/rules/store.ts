/** Rows of the rule engine, of rules, of the storage of scripts, and of the logs of rules. */
import { and, asc, desc, gt, lt, sql, sum } from 'drizzle-orm';
import { exactJson, parseExactJson } from '../../lib/json.ts';
import type { EpochMs } from '../../lib/time.ts';
import {
  countOf,
  createKeyValueStore,
  type Database,
  given,
  highestOf,
  placeholders,
  placeholdersBut,
  removalOf,
  type SqlDatabase,
} from '../../platform/sqlite/index.ts';
import { type LogSeverity, severityMask } from '../../protocol/device-log.ts';
import type { Rule, RuleLogEntry, RuleStrategy, RuleVersion } from './model.ts';
import { rule, ruleEngine, ruleLog, ruleLogSize, ruleStorage, ruleVersion } from './tables.ts';

export type RuleStore = ReturnType<typeof createRuleStore>;

export function createRuleStore({ orm }: Database) {
  const selectEngine = orm.select().from(ruleEngine).prepare();
  const selectRules = orm.select().from(rule).orderBy(rule.number).prepare();
  const insertRule = orm.insert(rule).values(placeholdersBut(rule, 'number')).prepare();
  const isRule = given(rule.id);
  const updateRule = orm
    .update(rule)
    .set(placeholdersBut(rule, 'number', 'id', 'createdAtMs'))
    .where(isRule)
    .prepare();
  const deleteRule = orm.delete(rule).where(isRule).prepare();

  return {
    engine: () => selectEngine.get(),
    insertEngine: (id: string): void => void orm.insert(ruleEngine).values({ id, isSuspended: false }).run(),
    setSuspended: (isSuspended: boolean): void => void orm.update(ruleEngine).set({ isSuspended }).run(),
    /** In the order of creation. */
    rules: (): Rule[] => selectRules.all().map(ruleOf),
    insert: (given: Rule): void => void insertRule.run(rowOf(given, given.createdAtMs)),
    update: (given: Rule, nowMs: EpochMs): void => void updateRule.run(rowOf(given, nowMs)),
    remove: (id: string): void => void deleteRule.run({ id }),
    ...versionStatements(orm),
    /** Storage of scripts: JSON by scope and key. */
    values: createKeyValueStore<string>(orm, ruleStorage),
  };
}

function versionStatements(orm: Database['orm']) {
  const { number, ruleId, code, id } = ruleVersion;
  const isOfRule = given(ruleId);
  const insert = orm.insert(ruleVersion).values(placeholdersBut(ruleVersion, 'number')).prepare();
  const newest = orm.select().from(ruleVersion).where(isOfRule).orderBy(desc(number)).prepare();
  const sizes = orm
    .select({ number, sizeBytes: sql<number>`octet_length(${code})` })
    .from(ruleVersion)
    .where(isOfRule)
    .orderBy(desc(number))
    .prepare();
  const byId = orm
    .select()
    .from(ruleVersion)
    .where(and(isOfRule, given(id)))
    .prepare();
  const removeOlder = orm
    .delete(ruleVersion)
    .where(and(isOfRule, lt(number, sql.placeholder('oldestKept'))))
    .prepare();
  return {
    /** Newest first. */
    versions: (of: string): RuleVersion[] => newest.all({ ruleId: of }).map(versionOf),
    version: (of: string, versionId: string): RuleVersion | undefined => {
      const row = byId.get({ ruleId: of, id: versionId });
      return row && versionOf(row);
    },
    /** Adds the newest version, and removes the oldest beyond so many, and beyond so many bytes together. */
    addVersion: (version: RuleVersion, keep: { versions: number; versionBytes: number }): void => {
      const { script, strategy, savedBy = null, ...rest } = version;
      const stored = { ...script, execIntervalMs: script.execIntervalMs ?? null };
      const parameters = strategy === undefined ? null : exactJson(strategy);
      insert.run({ ...rest, ...stored, savedBy, strategy: parameters });
      const rows = sizes.all({ ruleId: version.ruleId });
      let bytes = 0;
      const firstGone = rows.findIndex(({ sizeBytes }, index) => {
        bytes += sizeBytes;
        return index >= keep.versions || (index > 0 && bytes > keep.versionBytes);
      });
      if (firstGone > 0)
        removeOlder.run({ ruleId: version.ruleId, oldestKept: rows[firstGone - 1]?.number ?? 0 });
    },
  };
}

function versionOf({
  number: _number,
  strategy,
  savedBy,
  ...row
}: typeof ruleVersion.$inferSelect): RuleVersion {
  const { code, runtimeVersion, execIntervalMs, ...rest } = row;
  return {
    ...rest,
    savedBy: savedBy ?? undefined,
    script: { code, runtimeVersion, execIntervalMs: execIntervalMs ?? undefined },
    strategy: strategy === null ? undefined : (parseExactJson(strategy) as RuleStrategy),
  };
}

function ruleOf({
  id,
  slug,
  disabled,
  createdAtMs,
  strategy,
  traced,
  ...script
}: typeof rule.$inferSelect): Rule {
  const { code, runtimeVersion, execIntervalMs } = script;
  return {
    id,
    slug,
    disabled,
    script: { code, runtimeVersion, execIntervalMs: execIntervalMs ?? undefined },
    strategy: strategy === null ? undefined : (parseExactJson(strategy) as RuleStrategy),
    traced: traced === null ? undefined : traced === 1,
    createdAtMs,
  };
}

function rowOf(
  { script, strategy, traced, ...rest }: Rule,
  updatedAtMs: EpochMs,
): Omit<typeof rule.$inferSelect, 'number'> {
  return {
    ...rest,
    ...script,
    execIntervalMs: script.execIntervalMs ?? null,
    strategy: strategy === undefined ? null : exactJson(strategy),
    traced: traced === undefined ? null : Number(traced),
    updatedAtMs,
  };
}

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
      void insert.run({ ...entry, number: entryNumber }),
    /** Newest first. */
    newest: (
      rule: string,
      severities: readonly LogSeverity[] | undefined,
      limit: number,
      offset: number,
    ): RuleLogEntry[] => newest.all({ ruleId: rule, severities: severityMask(severities), limit, offset }),
    count: (rule: string, severities: readonly LogSeverity[] | undefined): number =>
      counted({ ruleId: rule, severities: severityMask(severities) }),
    /** Entries of all rules with a number above, in order. */
    after: (above: number, limit: number): (RuleLogEntry & { number: number })[] =>
      after.all({ number: above, limit }),
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
