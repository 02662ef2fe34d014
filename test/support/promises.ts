/** docs/security.md: what is promised, and whether somebody holds it. */

const ROW = /^\| (?<promise>.+) \| (?<holders>[^|]*) \|$/;

/** What is wrong with the tables below "What is promised", each in a sentence; none: nothing. */
export function promiseFaults(text: string, isTest: (path: string) => boolean): string[] {
  const chapter = /^## What is promised$([\s\S]*?)^## /m.exec(text)?.[1];
  if (chapter === undefined) return ['there is no chapter "What is promised"'];
  const rows = chapter.split('\n').flatMap((line) => {
    const { promise = '', holders = '' } = ROW.exec(line)?.groups ?? {};
    return promise === '' || promise === 'Promise' || /^-+$/.test(promise) ? [] : [{ promise, holders }];
  });
  if (rows.length === 0) return ['nothing is promised'];
  return rows.flatMap(({ promise, holders }) => {
    const files = [...holders.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    if (files.length === 0) return [`"${promise}" names no test`];
    return files
      .filter((path) => !isTest(path))
      .map((path) => `"${promise}" names ${path}, which is no test`);
  });
}
