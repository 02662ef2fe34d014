/** A temporary folder of a test, a log that keeps its lines, and the folders of the project. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/platform/clock/index.ts';
import { createLog, type Log } from '../../src/platform/log/index.ts';

export const PROJECT_ROOT = join(import.meta.dirname, '..', '..');
export const MIGRATIONS_DIR = join(PROJECT_ROOT, 'migrations');

/** A folder that is removed when the test ends. */
export function temporaryFolder(test: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface LogLine {
  level: string;
  message: string;
  [field: string]: unknown;
}

/** A real log whose lines a test can read. */
export function recordingLog(clock: Clock): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    clock,
    write: (text) => void lines.push(JSON.parse(text) as LogLine),
  });
  return { log, lines };
}
