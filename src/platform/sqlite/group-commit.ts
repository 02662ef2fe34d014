import type { Limits } from '../../lib/limits.ts';
import { CommitGroup } from '../commit/index.ts';
import type { Instruments } from '../metrics/index.ts';
import { isDamage } from './damage.ts';
import type { Database } from './database.ts';

interface Participant {
  /** Writes everything buffered, inside the transaction; must be repeatable, so it forgets nothing yet. */
  write(): void;
  /** The rows are in the database: forget them. Where syncs are shared, a power cut may still undo it. */
  committed(): void;
  /** The committed rows are on disk: callers that wait for this may be answered. */
  synced?(): void;
}

/** One transaction for the buffered rows of many participants. */
export type GroupCommit = CommitGroup & {
  /** Registers a participant; order of registration is order of writing. */
  join: (participant: Participant) => void;
};

/** The participants' buffered rows share one synced transaction. `CommitGroup` does waiting, windows and retries. */
export function createGroupCommit(
  options: Instruments & {
    database: Pick<Database, 'path' | 'transaction' | 'durable'>;
    name: string;
    limits?: Limits['commits'];
    /** The database turned out to be damaged; called for every commit that fails so. */
    onDamage?: () => void;
  },
): GroupCommit {
  const { database, onDamage, ...rest } = options;
  const participants: Participant[] = [];
  const group = new CommitGroup({
    ...rest,
    target: database.path,
    commit: async () => {
      try {
        database.transaction(() => {
          for (const participant of participants) participant.write();
        });
      } catch (error) {
        if (isDamage(error)) onDamage?.();
        throw error;
      }
      // Before the sync: rows that are buffered while it runs were not written.
      for (const participant of participants) participant.committed();
      await database.durable();
      for (const participant of participants) participant.synced?.();
    },
  });
  return Object.assign(group, {
    join: (participant: Participant): void => void participants.push(participant),
  });
}
