import type { Limits } from '../../lib/limits.ts';
import { CommitGroup } from '../commit/index.ts';
import type { Instruments } from '../metrics/index.ts';
import { isDamage } from './damage.ts';
import type { Database } from './database.ts';

interface Participant {
  /** Writes everything buffered, inside the transaction; must be repeatable, so it forgets nothing yet. */
  write(): void;
  /** What `write` wrote is in the database: forget it. Where syncs are shared, a cut of power may still take it back. */
  committed(): void;
  /** What was committed until now is on disk: who waits for that may be told. */
  synced?(): void;
}

/** One transaction for what many participants wrote meanwhile. */
export type GroupCommit = CommitGroup & {
  /** Registers a participant; order of registration is order of writing. */
  join: (participant: Participant) => void;
};

/**
 * Group commit of a database: the participants' buffered rows share one synced transaction. Waiting,
 * windows and retries are those of `platform/commit`.
 */
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
      // At once: what is buffered while the sync runs was not written yet.
      for (const participant of participants) participant.committed();
      await database.durable();
      for (const participant of participants) participant.synced?.();
    },
  });
  return Object.assign(group, {
    join: (participant: Participant): void => void participants.push(participant),
  });
}
