/** Whether backups were made, by plan or by hand; one request serves all callers. */
import type { MonotonicMs } from '../../lib/time.ts';
import { callFor, changeCount } from '../api.ts';
import { changesElsewhere } from '../elsewhere.ts';
import type { BackupPlan } from '../shapes.ts';

/** An automatic backup may be made meanwhile. */
const KNOWN_FOR_MS = 30_000;

interface BackupsKnown {
  isMade: boolean;
  /** Why the last one by plan failed. */
  fault: string | null;
}

let asked: { atChange: number; atMs: MonotonicMs; answer: Promise<BackupsKnown> } | undefined;

export function backupsKnown(): Promise<BackupsKnown> {
  const atChange = changeCount.value + changesElsewhere.value;
  const nowMs = performance.now();
  if (asked?.atChange !== atChange || nowMs - asked.atMs > KNOWN_FOR_MS)
    asked = { atChange, atMs: nowMs, answer: ask() };
  // A failed request is repeated by the next caller.
  asked.answer.catch(() => (asked = undefined));
  return asked.answer;
}

async function ask(): Promise<BackupsKnown> {
  const plan = await callFor<BackupPlan>('backup_plan', 'GET', '/v3/backup/plan');
  return { isMade: plan.last_good_at !== null || plan.last_taken_at !== null, fault: plan.last_error };
}
