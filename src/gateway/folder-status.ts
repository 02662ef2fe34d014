/** Content of the data folder, for the status of the gateway. */
import { join } from 'node:path';
import { inWords, unlessRefused } from '../lib/system-fault.ts';
import { type LocalCopy, localCopies } from '../platform/sqlite/index.ts';
import type { Infrastructure } from './infrastructure.ts';
import { missingHistory } from './missing-history.ts';

/** Looks at each call; what the disk does not tell stays as it was last known, with the reason. */
export function folderStatus({
  state,
  history,
  historyRoom,
  space,
  options,
}: Pick<Infrastructure, 'state' | 'history' | 'historyRoom' | 'space' | 'options'>) {
  const missing = missingHistory({ options });
  let known = {
    historySizeBytes: 0,
    stateSizeBytes: 0,
    historySetAside: { damaged: [] as string[], foreign: [] as string[] },
  };
  const look = (): void => {
    known = {
      historySizeBytes: historyRoom.usedBytes(),
      stateSizeBytes: state.sizeBytes(),
      historySetAside: history.setAsideNames(),
    };
  };
  return () => {
    const refusal = unlessRefused(look, inWords);
    return { ...known, historyMissing: missing(), folderFault: refusal ?? space.fault };
  };
}

/** Copies of state.db on this disk, the newest first; undefined while the disk does not tell. */
export function knownCopies(dataDir: string): LocalCopy[] | undefined {
  return unlessRefused(
    () => localCopies(join(dataDir, 'backups')),
    () => undefined,
  );
}
