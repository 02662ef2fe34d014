/** Which rows of the contract's tables the recorded requests of the tests belong to. */
import {
  ALIASES,
  CALLERS,
  CLIENT_LINES,
  isPathOf,
  OPERATIONS,
  type TracedRequest,
} from '../../../test/contract/operations.ts';

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

/** One path of an operation, and what each caller got there in any test. */
export interface OutcomeRow {
  chapter: string;
  row: string;
  /** Statuses in ascending order, by caller; empty: nobody asked as that caller. */
  statuses: Readonly<Record<string, readonly number[]>>;
}

/** Operation × path × caller × outcome. */
export function outcomesOf(lines: readonly TracedLine[]): OutcomeRow[] {
  return OPERATIONS.flatMap(({ operation, method, paths, chapter }) =>
    paths.map((path) => {
      const asked = lines.filter((line) => line.method === method && isThisPath(path, line));
      const statusesOf = (caller: string): number[] =>
        [...new Set(asked.filter((line) => line.caller === caller).map(({ status }) => status))].toSorted(
          (a, b) => a - b,
        );
      return {
        chapter,
        row: `${operation}: ${method} ${path}`,
        statuses: Object.fromEntries(CALLERS.map((caller) => [caller, statusesOf(caller)])),
      };
    }),
  );
}

/** As a table of text, one line for each path. */
export function outcomeReport(rows: readonly OutcomeRow[]): string {
  const width = Math.max(...rows.map(({ row }) => row.length));
  return rows
    .map(({ chapter, row, statuses }) => {
      const cells = CALLERS.map((caller) => `${caller} ${(statuses[caller] ?? []).join(' ') || 'NO TEST'}`);
      return `${chapter.padEnd(5)} ${row.padEnd(width)}  ${cells.join(' | ')}`;
    })
    .join('\n');
}

/** Lines of the client matrix with the tests whose titles name them: `GO-1, GO-3 … GO-5: …`. */
function clientRows(lines: readonly TracedLine[]): CoverageRow[] {
  const testsOf = new Map<string, Set<string>>();
  for (const { test } of lines)
    for (const [, client = '', from = '', to = from] of test.matchAll(
      /\b([A-Z]{2})-(\d+)(?: … [A-Z]{2}-(\d+))?/g,
    ))
      for (let number = Number(from); number <= Number(to); number++) {
        const id = `${client}-${number}`;
        testsOf.set(id, (testsOf.get(id) ?? new Set()).add(test));
      }
  return Object.entries(CLIENT_LINES).flatMap(([client, count]) =>
    Array.from({ length: count }, (_, index) => `${client}-${index + 1}`).map((id) => ({
      chapter: client,
      row: id,
      tests: [...(testsOf.get(id) ?? [])],
    })),
  );
}

/** Every path of every operation, every other alias, every line of the client matrix, in the order of the tables. */
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
    ...clientRows(lines),
  ];
}

/** A refusal of the caller says nothing of the operation; 422 is the answer of those that exist in the cloud only. */
function isAnswer(status: number): boolean {
  return status === 200 || status === 422;
}

/** When two templates fit, the one with fewer parameters is meant: `/v3/sites/users/me/sites`. */
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
