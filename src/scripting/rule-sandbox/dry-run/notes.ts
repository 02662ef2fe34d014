/** The entries of a dry run: what the script did, bounded in number and size. */
import type { Limits } from '../../../lib/limits.ts';
import type { EpochMs } from '../../../lib/time.ts';
import type { DryRunEntry, DryRunReport } from '../../../protocol/dry-run.ts';

/** An entry before it is stamped; an intersection with a union is kept apart member by member. */
type WithoutTime<Entry> = Entry extends unknown ? Omit<Entry, 'atMs'> : never;

export type Notes = ReturnType<typeof createNotes>;

export function createNotes(options: {
  clock: { wallMs(): EpochMs };
  limits: Limits['rules']['dryRun'];
  tell: (entry: DryRunEntry) => void;
}) {
  const { clock, limits, tell } = options;
  /** Entries of each kind, including those that there was no room for. */
  const counts: DryRunReport['counts'] = {};
  let bytes = 0;
  return {
    counts,
    add: (entry: WithoutTime<DryRunEntry>) => {
      const count = (counts[entry.kind] ?? 0) + 1;
      counts[entry.kind] = count;
      if (count > limits.entriesOfKind || bytes >= limits.entriesBytes) return;
      const stamped: DryRunEntry = { atMs: clock.wallMs(), ...entry };
      bytes += Buffer.byteLength(JSON.stringify(stamped, exactAsText));
      if (bytes <= limits.entriesBytes) tell(stamped);
    },
  };
}

/** Integers beyond 2^53 have no JSON of their own; here only their length counts. */
function exactAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
