/** Programs that end at once, many of them in one process: to start a process takes more than what they do. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from './workspace.ts';

const CHILD = join(PROJECT_ROOT, 'test/support/children/entries.ts');

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs command lines `[file, ...words]` one after another; the process must end by itself after the last. */
export function runEntries(lines: readonly (readonly string[])[], env?: NodeJS.ProcessEnv): Ended[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CHILD, JSON.stringify(lines)], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
    ...(env && { env }),
  });
  assert.deepEqual([status, stderr], [0, '']);
  return JSON.parse(stdout) as Ended[];
}
