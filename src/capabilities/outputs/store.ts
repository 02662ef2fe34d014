/** Rows of outputs and of their changes. */
import { and, desc, sql } from 'drizzle-orm';
import { exactJson, parseExactJson } from '../../lib/json.ts';
import { countOf, type Database, given, placeholdersBut, upsert } from '../../platform/sqlite/index.ts';
import type { Output, StoredOutput } from './arbiter.ts';
import type { Safe } from './model.ts';
import { output, outputChange } from './tables.ts';

export type OutputChange = Omit<typeof outputChange.$inferSelect, 'number'>;

export type OutputStore = ReturnType<typeof createOutputStore>;

export function createOutputStore({ orm }: Database) {
  const select = orm.select().from(output).orderBy(output.id).prepare();
  const put = upsert({ orm }, output);
  const remove = orm.delete(output).where(given(output.id)).prepare();
  const isOfOutput = given(outputChange.outputId);
  const insert = orm.insert(outputChange).values(placeholdersBut(outputChange, 'number')).prepare();
  const newest = orm
    .select()
    .from(outputChange)
    .where(isOfOutput)
    .orderBy(desc(outputChange.number))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .prepare();
  const newestGone = orm
    .select({ number: outputChange.number })
    .from(outputChange)
    .where(isOfOutput)
    .orderBy(desc(outputChange.number))
    .limit(1)
    .offset(sql.placeholder('kept'));
  const trim = orm
    .delete(outputChange)
    .where(and(isOfOutput, sql`${outputChange.number} <= ${newestGone}`))
    .prepare();

  const countChanges = countOf(orm, outputChange, isOfOutput);

  return {
    stored: (): StoredOutput[] =>
      select.all().map(({ safe, ...row }) => ({
        ...row,
        safe: safe === null ? undefined : (parseExactJson(safe) as Safe),
      })),
    put: ({ id, deviceId, part, commands, safe, last }: Output): void => {
      const rules = last ? [last.rule, ...last.limitedBy] : [];
      put.run({
        id,
        deviceId,
        part,
        commands: [...commands],
        safe: safe ? exactJson(safe) : null,
        ruleIds: rules.map((rule) => rule.id),
      });
    },
    remove: (id: string): void => void remove.run({ id }),
    /** Adds a change, and removes those beyond `kept`. */
    addChange: (change: OutputChange, kept: number): void => {
      insert.run(change);
      trim.run({ outputId: change.outputId, kept });
    },
    /** Newest first. */
    changes: (outputId: string, limit: number, offset: number): OutputChange[] =>
      newest.all({ outputId, limit, offset }),
    countChanges: (outputId: string): number => countChanges({ outputId }),
  };
}
