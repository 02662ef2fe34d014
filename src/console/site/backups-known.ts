/** What is known of backups: of the plan, and of those that were made by hand; asked once for all who want to know. */
import { call, changeCount } from '../api.ts';
import type { AuditEntry, BackupPlan } from '../shapes.ts';

const REFUSED_FROM = 400;
/** A backup by plan is made without anybody asking. */
const KNOWN_FOR_MS = 30_000;

interface BackupsKnown {
  isMade: boolean;
  /** Why the last one by plan failed. */
  fault: string | null;
}

let asked: { atChange: number; atMs: number; answer: Promise<BackupsKnown> } | undefined;

export function backupsKnown(): Promise<BackupsKnown> {
  const atChange = changeCount.value;
  const nowMs = performance.now();
  if (asked?.atChange !== atChange || nowMs - asked.atMs > KNOWN_FOR_MS)
    asked = { atChange, atMs: nowMs, answer: ask() };
  return asked.answer;
}

async function ask(): Promise<BackupsKnown> {
  const { backup_plan: plan } = await call<{ backup_plan: BackupPlan }>('GET', '/v3/backup/plan');
  return { isMade: plan.last_good_at !== null || (await isOneInAudit()), fault: plan.last_error };
}

async function isOneInAudit(): Promise<boolean> {
  const path = '/v3/audit?operation=create_backup&limit=1';
  const { entries } = await call<{ entries: AuditEntry[] }>('GET', path);
  return entries.some(({ status }) => status < REFUSED_FROM);
}
