/** Backups on the wire. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { camelMembers, defined } from '../../lib/members.ts';
import type { Rehearsal } from '../../platform/backup/index.ts';
import { shape } from '../../platform/http/index.ts';
import { formatMinute, parseMinute } from './model.ts';
import type { PlanChange, PlanStatus } from './service.ts';
import { SCHEDULES } from './tables.ts';

const { passwordLengthMin, passwordLengthMax, keepMax, alertAfterDaysMax } = LIMITS.backup;

const password = v.pipe(
  v.string(),
  v.minLength(passwordLengthMin, `must have at least ${passwordLengthMin} characters`),
  v.maxLength(passwordLengthMax, `must have at most ${passwordLengthMax} characters`),
  v.description('Opens the backup; nobody can open it without.'),
  v.examples(['a long sentence']),
);

export const backupBody = v.object({
  password,
  include_history: v.nullish(
    shape.about(v.boolean(), 'Telemetry and logs too; needs twice their size free on the disk.'),
    false,
  ),
});

export const restoreBody = v.pipe(
  v.object({
    rehearsal: v.nullish(
      shape.about(v.boolean(), 'The restored copy sends nothing until an owner ends the rehearsal.'),
      false,
    ),
    password: v.nullish(
      v.pipe(
        v.string(),
        v.maxLength(passwordLengthMax, `must have at most ${passwordLengthMax} characters`),
        v.description('With which the backup was made; a plain copy of state.db has none.'),
        v.examples(['a long sentence']),
      ),
      '',
    ),
  }),
  shape.example({ password: 'a long sentence' }),
);

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/;
const CONTROL = /\p{Cc}/u;
const schedule = shape.about(v.picklist(SCHEDULES), 'OFF: only those that somebody asks for.');
const at = v.pipe(
  v.string(),
  v.regex(TIME, 'must be a time such as 03:15'),
  v.description('Time of the day, of the site.'),
  v.examples(['03:15']),
);
const target = v.pipe(
  v.string(),
  v.maxLength(512),
  v.description('A folder, sftp://user@host/folder, or https://host/folder of a WebDAV server.'),
  v.examples(['/media/backup', 'sftp://backup@nas.local/backups']),
);
const oneLine = v.pipe(
  v.string(),
  v.maxLength(256),
  v.check((text) => !CONTROL.test(text), 'must be one line'),
);
const keep = shape.whole(1, keepMax);
const alertAfterDays = shape.whole(1, alertAfterDaysMax);

export const planBody = v.pipe(
  v.object({
    schedule: v.optional(schedule),
    at: v.optional(at),
    target: v.optional(v.nullable(target)),
    target_username: v.optional(v.nullable(shape.about(oneLine, 'Of a WebDAV server.'))),
    target_password: v.optional(v.nullable(shape.about(oneLine, 'Of a WebDAV server; never shown.'))),
    password: v.optional(v.nullable(password)),
    include_history: v.optional(v.boolean()),
    keep: v.optional(shape.about(keep, 'Backups left at the target; the oldest go.')),
    alert_after_days: v.optional(
      shape.about(alertAfterDays, 'Days without a good backup before an alert is raised.'),
    ),
  }),
  shape.example({
    schedule: 'DAILY',
    at: '03:15',
    target: 'sftp://backup@nas.local/backups',
    password: 'a long sentence',
    keep: 7,
  }),
);

const planShape = shape.named(
  'BackupPlan',
  v.object({
    schedule,
    at,
    target: v.nullable(target),
    target_username: v.nullable(v.string()),
    has_target_password: v.boolean(),
    has_password: shape.about(v.boolean(), 'The password that seals the backups is set; it is never shown.'),
    include_history: v.boolean(),
    keep,
    alert_after_days: alertAfterDays,
    sftp_public_key: v.nullable(
      shape.about(v.string(), 'For authorized_keys of the other machine, when the target is one over SFTP.'),
    ),
    is_running: v.boolean(),
    is_overdue: shape.about(v.boolean(), 'No good backup for longer than alert_after_days.'),
    last_good_at: shape.about(
      v.nullable(shape.instant()),
      'The last backup that was made by plan, opened, and read back at the target.',
    ),
    last_good_name: v.nullable(v.string()),
    last_good_bytes: v.nullable(v.number()),
    last_taken_at: shape.about(
      v.nullable(shape.instant()),
      'The last backup that somebody took by `create_backup`, of those the audit trail still has.',
    ),
    last_tried_at: v.nullable(shape.instant()),
    last_error: shape.about(v.nullable(v.string()), 'Why the last try failed; null: it did not.'),
  }),
);

export type BackupPlanOnWire = v.InferOutput<typeof planShape>;

export const rehearsalToWire = (rehearsal: Rehearsal | undefined) => ({
  rehearsal: shape.filled(backupShapes.rehearsal.entries.rehearsal, {
    isOn: rehearsal !== undefined,
    beganAtMs: rehearsal?.beganAtMs,
  }),
});

export const backupShapes = {
  plan: v.object({ backup_plan: planShape }),
  rehearsal: v.object({
    rehearsal: v.object({
      is_on: shape.about(
        v.boolean(),
        'The gateway is a restored copy that sends nothing: no targets, rules, commands, notifications, backups by plan.',
      ),
      began_at: shape.about(v.nullable(shape.instant()), 'When the backup was restored.'),
    }),
  }),
  upload: v.object({ upload: v.object({ size_bytes: shape.count() }) }),
  restore: v.object({
    restore: v.object({
      made_at: shape.about(v.nullable(shape.instant()), 'null: a plain copy of state.db does not say.'),
      version: shape.about(v.nullable(v.string()), 'Of the gateway that made it.'),
      includes_history: v.boolean(),
    }),
  }),
};

export function planToWire({ plan, outcome, ...status }: PlanStatus): BackupPlanOnWire {
  return shape.filled(planShape, {
    ...plan,
    ...status,
    at: formatMinute(plan.atMinute),
    hasTargetPassword: plan.targetPassword !== null,
    hasPassword: plan.password !== null,
    sftpPublicKey: status.sftpKey,
    lastGoodAtMs: outcome?.goodAtMs,
    lastGoodName: outcome?.goodName,
    lastGoodBytes: outcome?.goodBytes,
    lastTakenAtMs: status.takenAtMs,
    lastTriedAtMs: outcome?.triedAtMs,
    lastError: outcome?.fault,
  });
}

export function planFromWire({ at: time, ...body }: v.InferOutput<typeof planBody>): PlanChange {
  return defined({
    ...camelMembers(body),
    atMinute: time === undefined ? undefined : parseMinute(time),
  });
}
