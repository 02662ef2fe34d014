/** A process with `process-watch.ts` in it, from outside. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import type { Clock } from '../../src/platform/clock/index.ts';

export interface ProcessFigures {
  /** How much later than planned the event loop came round. */
  delayP50Ms: number;
  delayP99Ms: number;
  delayMaxMs: number;
  heapUsedBytes: number;
  heapTotalBytes: number;
  externalBytes: number;
}

const ANSWER_TIMEOUT_MS = 10_000;
const ANSWER_POLL_MS = 20;

/** For the command line of the process; makes a module beside `file`. */
export function watchFlags(file: string): string[] {
  const source = readFileSync(join(import.meta.dirname, 'process-watch.ts'), 'utf8');
  // Without types: the part of the runtime that takes them out is 20 MB.
  writeFileSync(`${file}.mjs`, stripTypeScriptTypes(source));
  const module = pathToFileURL(`${file}.mjs`);
  module.searchParams.set('file', file);
  return ['--import', module.href];
}

/** What was since the last call. @throws Error when the process does not answer */
export async function watchedFigures(pid: number, file: string, clock: Clock): Promise<ProcessFigures> {
  const known = answers(file).length;
  const deadlineMs = clock.monotonicMs() + ANSWER_TIMEOUT_MS;
  process.kill(pid, 'SIGUSR2');
  for (;;) {
    const answer = answers(file)[known];
    if (answer !== undefined) return JSON.parse(answer) as ProcessFigures;
    if (clock.monotonicMs() > deadlineMs) throw new Error(`process ${pid} does not tell its figures`);
    await clock.sleep(ANSWER_POLL_MS);
  }
}

/** Complete lines. */
function answers(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}
