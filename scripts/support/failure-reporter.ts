/** A reporter of `node --test` for the end of a whole run: what failed, with where and why, and nothing of what passed. */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** Lines of an error that are shown; the whole of it stands where the test ran. */
const ERROR_LINES_MAX = 12;

/** Yields a paragraph for each failed test, with the titles of its suites; a suite that failed by its tests alone is none. */
export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  /** Titles by nesting: a suite starts before its tests do. */
  const titles: string[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') titles.splice(data.nesting, Infinity, data.name);
    if (type !== 'test:fail') continue;
    const { error } = data.details;
    if ('failureType' in error && error.failureType === 'subtestsFailed') continue;
    const text = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : error.message;
    const file = data.file === undefined ? undefined : relative('', data.file);
    const path = [...titles.slice(0, data.nesting), data.name].filter((title) => title !== file);
    const place = file === undefined ? '' : `${file}: `;
    const shown = text.split('\n').slice(0, ERROR_LINES_MAX);
    yield `✖ ${place}${path.join(' › ')}\n${shown.map((line) => `    ${line}\n`).join('')}\n`;
  }
}
