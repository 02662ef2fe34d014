/** Divides the room of the history. Pure: sizes in, limits out. */
import type { Limits } from './limits.ts';

interface HistoryUse {
  /** Configured for everything that belongs to the history. */
  maxBytes: number;
  /** Used on the disk now. */
  usedBytes: number;
  /** Of that, files that were set aside and are not written any more. */
  setAsideBytes: number;
  /** Write-ahead log of history.db, at its largest. */
  logBytes: number;
  disk: { totalBytes: number; freeBytes: number };
}

export interface HistoryBudget {
  /** All that the history may take. */
  totalBytes: number;
  /** Limit of history.db. */
  fileMaxBytes: number;
  journalMaxBytes: number;
  deviceLogMaxBytes: number;
  ruleLogMaxBytes: number;
}

/** Keeps less history to leave room on the disk, down to a floor; files that were set aside count, up to a half. */
export function historyBudget(use: HistoryUse, limits: Limits['history']): HistoryBudget {
  const { totalBytes: diskBytes, freeBytes } = use.disk;
  const keptFreeBytes = Math.min(
    Math.max(limits.freeBytes, (diskBytes * limits.freePercent) / 100),
    (diskBytes * limits.freePercentMax) / 100,
  );
  const reachableBytes = use.usedBytes + freeBytes - keptFreeBytes;
  const totalBytes = Math.min(use.maxBytes, Math.max(limits.floorBytes, reachableBytes));
  const setAsideBytes = Math.min(use.setAsideBytes, (totalBytes * limits.setAsidePercentMax) / 100);
  const journalMaxBytes = ((totalBytes - setAsideBytes) * limits.journalPercent) / 100;
  const fileMaxBytes = Math.floor(totalBytes - setAsideBytes - journalMaxBytes - use.logBytes);
  return {
    totalBytes,
    fileMaxBytes,
    journalMaxBytes,
    deviceLogMaxBytes: (fileMaxBytes * limits.deviceLogPercent) / 100,
    ruleLogMaxBytes: (fileMaxBytes * limits.ruleLogPercent) / 100,
  };
}
