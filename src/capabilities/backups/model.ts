/** When backups are due, and their names. */
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { backupOutcome, backupPlan } from './tables.ts';

export type BackupPlan = Omit<typeof backupPlan.$inferSelect, 'id'>;
export type BackupOutcome = Omit<typeof backupOutcome.$inferSelect, 'id'>;

export const PLAN_DEFAULT: BackupPlan = {
  schedule: 'OFF',
  atMinute: 3 * 60 + 15,
  target: null,
  targetUsername: null,
  targetPassword: null,
  isMount: false,
  password: null,
  includeHistory: false,
  keep: 7,
  alertAfterDays: 3,
  changedAtMs: 0,
};

const PERIOD_DAYS: Readonly<Record<Exclude<BackupPlan['schedule'], 'OFF'>, number>> = { DAILY: 1, WEEKLY: 7 };
const DAY_MS = 86_400_000;

/**
 * Whether a backup is due: from the planned minute of the day when the period since the last good one ends; after that day,
 * as after a power cut, at once. After a failure only once the pause is over.
 */
export function isDue(
  plan: BackupPlan,
  outcome: BackupOutcome | undefined,
  now: { wallMs: EpochMs; timeZone: string; retryMs: DurationMs },
): boolean {
  if (plan.schedule === 'OFF') return false;
  const sinceTryMs = outcome ? now.wallMs - outcome.triedAtMs : undefined;
  // After the clock was set back, the moment of the failure says nothing.
  if (
    typeof outcome?.fault === 'string' &&
    sinceTryMs !== undefined &&
    sinceTryMs >= 0 &&
    sinceTryMs < now.retryMs
  )
    return false;
  const today = localTime(now.wallMs, now.timeZone);
  const lastMs = outcome?.goodAtMs ?? undefined;
  if (lastMs === undefined || lastMs > now.wallMs) return today.minute >= plan.atMinute;
  const days = today.day - localTime(lastMs, now.timeZone).day;
  const period = PERIOD_DAYS[plan.schedule];
  return days > period || (days === period && today.minute >= plan.atMinute);
}

/** Whether the plan has given no good backup for longer than it allows. */
export function isOverdue(plan: BackupPlan, outcome: BackupOutcome | undefined, wallMs: EpochMs): boolean {
  if (plan.schedule === 'OFF') return false;
  const sinceMs = Math.max(outcome?.goodAtMs ?? 0, plan.changedAtMs);
  // The clock was ahead then: the age is not known, but the outcome of the last try is.
  if (sinceMs > wallMs) return typeof outcome?.fault === 'string';
  return wallMs - sinceMs > plan.alertAfterDays * DAY_MS;
}

function localTime(wallMs: EpochMs, timeZone: string): { day: number; minute: number } {
  const local = Temporal.Instant.fromEpochMilliseconds(Math.floor(wallMs)).toZonedDateTimeISO(timeZone);
  const day = Date.UTC(local.year, local.month - 1, local.day) / DAY_MS;
  return { day, minute: local.hour * 60 + local.minute };
}

/** The gateway that owns backups: several gateways may share a target, and have the same name. */
export interface BackupOwner {
  /** Id of the site, whose name may change. */
  id: string;
  slug: string;
}

/** The name has no colon, because file systems of sticks do not allow it. */
export function backupName({ id, slug }: BackupOwner, wallMs: EpochMs): string {
  const stamp = new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${slug}-${keyOf(id)}-${stamp}Z.backup`;
}

/**
 * Backups of this gateway beyond the number to keep. The last one, `made`, stays whatever its time is, and with it the newest
 * of the others. A backup with a later time than the last one was named by a clock that was wrong, and is removed first;
 * otherwise it would stay for ever, in place of newer ones. Unfinished `.part` files are removed, too.
 */
export function namesToRemove(
  names: readonly string[],
  owner: BackupOwner,
  keep: number,
  made: string,
): string[] {
  const others = ownOf(names, owner, '').filter((name) => name !== made);
  const ageOf = (name: string): string => `${stampOf(name) > stampOf(made) ? 0 : 1}${stampOf(name)}`;
  const byTime = others.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
  return [...byTime.slice(0, Math.max(0, others.length - keep + 1)), ...partsOf(names, owner)];
}

/** Unfinished files of this gateway. */
export function partsOf(names: readonly string[], owner: BackupOwner): string[] {
  return ownOf(names, owner, '\\.part');
}

function ownOf(names: readonly string[], { id }: BackupOwner, ending: string): string[] {
  const own = new RegExp(`^[a-z0-9-]+-${keyOf(id)}-${STAMP}${ending}$`);
  return names.filter((name) => own.test(name));
}

const STAMP = '\\d{8}T\\d{6}Z\\.backup';

const stampOf = (name: string): string => name.slice(name.lastIndexOf('-'));

const keyOf = (id: string): string => id.slice(0, 8);

/** Such as 03:15. */
export function formatMinute(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

export function parseMinute(text: string): number {
  const [hours = '0', minutes = '0'] = text.split(':');
  return Number(hours) * 60 + Number(minutes);
}
