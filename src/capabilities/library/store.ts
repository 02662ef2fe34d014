/** Rows of uploaded device templates. */
import { countOf, type Database, given, upsert } from '../../platform/sqlite/index.ts';
import { libraryTemplate } from './tables.ts';

export type LibraryStore = ReturnType<typeof createLibraryStore>;

export function createLibraryStore({ orm }: Database) {
  const { id, content } = libraryTemplate;
  const select = orm.select({ content }).from(libraryTemplate).where(given(id)).prepare();
  const selectAll = orm.select().from(libraryTemplate).orderBy(id).prepare();
  const put = upsert({ orm }, libraryTemplate);
  const remove = orm.delete(libraryTemplate).where(given(id)).prepare();
  return {
    text: (wanted: string): string | undefined => select.get({ id: wanted })?.content,
    /** Id → text. */
    all: (): Record<string, string> =>
      Object.fromEntries(selectAll.all().map((row) => [row.id, row.content])),
    count: countOf(orm, libraryTemplate),
    put: (wanted: string, text: string): void => void put.run({ id: wanted, content: text }),
    remove: (wanted: string): boolean => remove.run({ id: wanted }).changes > 0,
  };
}
