/** Which rows of the contract's tables the recorded requests of the tests belong to. */
import { ALIASES, isPathOf, OPERATIONS, type TracedRequest } from '../../test/contract/operations.ts';

/** One line of the record: a request and the test that sent it. */
export interface TracedLine extends TracedRequest {
  test: string;
}

export interface CoverageRow {
  chapter: string;
  /** Operation with its path, or the alias. */
  row: string;
  /** Titles of the tests that exercise it, each once. */
  tests: string[];
}

/** Every path of every operation, then every other alias, in the order of the tables. */
export function coverageOf(lines: readonly TracedLine[]): CoverageRow[] {
  const titles = (belongs: (line: TracedLine) => boolean): string[] => [
    ...new Set(lines.filter(belongs).map(({ test }) => test)),
  ];
  return [
    ...OPERATIONS.flatMap(({ operation, method, paths, chapter }) =>
      paths.map((path) => ({
        chapter,
        row: `${operation}: ${method} ${path}`,
        tests: titles((line) => line.method === method && isAnswer(line.status) && isThisPath(path, line)),
      })),
    ),
    ...ALIASES.map(({ alias, chapter, isUsedBy }) => ({ chapter, row: alias, tests: titles(isUsedBy) })),
  ];
}

/** A refusal of the caller says nothing of the operation; 422 is the answer of those that exist in the cloud only. */
function isAnswer(status: number): boolean {
  return status === 200 || status === 422;
}

/** Of two templates that fit, the one with fewer parameters is meant: `/v3/sites/users/me/sites`. */
function isThisPath(template: string, { path, method }: TracedLine): boolean {
  if (!isPathOf(template, path)) return false;
  const parametersOf = (text: string): number => text.split('{').length;
  return !OPERATIONS.some(
    (other) =>
      other.method === method &&
      other.paths.some((rival) => parametersOf(rival) < parametersOf(template) && isPathOf(rival, path)),
  );
}

/** As lines of text: chapter, row, number of tests and the first of them. */
export function report(rows: readonly CoverageRow[], titlesShown: number): string {
  return rows
    .map(({ chapter, row, tests }) => {
      const shown = tests.slice(0, titlesShown).map((title) => `\n        ${title}`);
      const more = tests.length > titlesShown ? `\n        and ${tests.length - titlesShown} more` : '';
      const count = tests.length === 0 ? 'NO TEST' : `${tests.length} tests`;
      return `${chapter.padEnd(5)} ${row} (${count})${shown.join('')}${titlesShown > 0 ? more : ''}`;
    })
    .join('\n');
}
