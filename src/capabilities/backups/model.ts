/** When backups are due, and what they are called. */

export const SCHEDULES = ['OFF', 'DAILY', 'WEEKLY'] as const;
type Schedule = (typeof SCHEDULES)[number];

export interface BackupPlan {
  schedule: Schedule;
  /** Minutes since midnight, of the site's clock. */
  atMinute: number;
  /** As `targetProblem` admits it. */
  target: string | null;
  /** Of WebDAV. */
  targetUsername: string | null;
  targetPassword: string | null;
  /** The folder of the target was on another file system than the data when it was named. */
  isMount: boolean;
  /** Seals the backups. */
  password: string | null;
  includeHistory: boolean;
  /** Backups left at the target. */
  keep: number;
  alertAfterDays: number;
  changedAtMs: number;
}

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

export interface BackupOutcome {
  /** The last one that was opened and checked at its place. */
  goodAtMs: number | null;
  goodName: string | null;
  goodBytes: number | null;
  triedAtMs: number;
  /** Why the last try failed; null: it did not. */
  fault: string | null;
}

const PERIOD_DAYS: Readonly<Record<Exclude<Schedule, 'OFF'>, number>> = { DAILY: 1, WEEKLY: 7 };
const DAY_MS = 86_400_000;

/**
 * Whether one is to be made now: on the day when the period since the last good one is over, from the minute of the plan
 * on; later at once, as after a time without power. After a failure only once the pause is over.
 */
export function isDue(
  plan: BackupPlan,
  outcome: BackupOutcome | undefined,
  now: { wallMs: number; timeZone: string; retryMs: number },
): boolean {
  if (plan.schedule === 'OFF') return false;
  const sinceTryMs = outcome ? now.wallMs - outcome.triedAtMs : undefined;
  // A clock that was set back since is none to wait for.
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
export function isOverdue(plan: BackupPlan, outcome: BackupOutcome | undefined, wallMs: number): boolean {
  if (plan.schedule === 'OFF') return false;
  const sinceMs = Math.max(outcome?.goodAtMs ?? 0, plan.changedAtMs);
  return wallMs - sinceMs > plan.alertAfterDays * DAY_MS;
}

function localTime(wallMs: number, timeZone: string): { day: number; minute: number } {
  const local = Temporal.Instant.fromEpochMilliseconds(Math.floor(wallMs)).toZonedDateTimeISO(timeZone);
  const day = Date.UTC(local.year, local.month - 1, local.day) / DAY_MS;
  return { day, minute: local.hour * 60 + local.minute };
}

/** Without a colon, which file systems of sticks do not take. */
export function backupName(slug: string, wallMs: number): string {
  return `${slug}-${new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.backup`;
}

/** Those of this gateway that are beyond the number to keep, the newest ones stay; `.part` of tries that were cut too. */
export function namesToRemove(names: readonly string[], slug: string, keep: number): string[] {
  const own = new RegExp(`^${slug}-\\d{8}T\\d{6}Z\\.backup(\\.part)?$`);
  const mine = names.filter((name) => own.test(name)).toSorted();
  const whole = mine.filter((name) => name.endsWith('.backup'));
  return [
    ...whole.slice(0, Math.max(0, whole.length - keep)),
    ...mine.filter((name) => name.endsWith('.part')),
  ];
}

/** Such as 03:15. */
export function formatMinute(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

export function parseMinute(text: string): number {
  const [hours = '0', minutes = '0'] = text.split(':');
  return Number(hours) * 60 + Number(minutes);
}
