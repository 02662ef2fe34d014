/** A program that mounts disks does so for itself alone. */
import { spawn } from 'node:child_process';

/** What is mounted here is nobody else's: a container that is started meanwhile would keep a broken disk alive. */
const WITH_OWN_MOUNTS = 'FAULT_CHECK_HAS_OWN_MOUNTS';

export const hasOwnMounts = (): boolean => process.env[WITH_OWN_MOUNTS] !== undefined;

/** Runs this program again, with mounts of its own; resolves with its exit code. */
export function runWithOwnMounts(): Promise<number> {
  const child = spawn(
    'unshare',
    ['--mount', process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    {
      stdio: 'inherit',
      env: { ...process.env, [WITH_OWN_MOUNTS]: 'yes' },
    },
  );
  // Both get what a terminal sends; only this one what another program does.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => child.kill(name));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
