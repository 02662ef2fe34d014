/** The thread that opens backups beside the event loop: the password alone takes a second. */
import { type FileHandle, open } from 'node:fs/promises';
import { GatewayError } from '../../lib/errors.ts';
import { asSystemFault } from '../../lib/system-fault.ts';
import { serveTasks } from '../workers/index.ts';
import { BackupError } from './layout.ts';
import type { OpenTask, Opened } from './opening.ts';
import { checkBackup, isPlainCopy, prepareCopyRestore, prepareRestore } from './restore.ts';

serveTasks(async (task: OpenTask): Promise<Opened> => {
  const file = await openIfThere(task.path);
  // Another caller took it over, or began to upload another one.
  if (!file) return { info: undefined, refusal: 'The backup is not there any more.' };
  const options = { ...task, file, clock: { wallMs: () => task.nowMs } };
  try {
    if (task.kind === 'check') return { info: await checkBackup(options) };
    if (!(await isPlainCopy(file))) return { info: await prepareRestore(options) };
    await prepareCopyRestore(options);
    return { info: undefined };
  } catch (error) {
    const fault = asSystemFault(error);
    if (!(fault instanceof BackupError || fault instanceof GatewayError)) throw error;
    return { info: undefined, refusal: fault.message, isUnavailable: fault instanceof GatewayError };
  } finally {
    await file.close();
  }
});

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
