import { LIMITS } from '../../lib/limits.ts';
import { attachmentHeaders, type MediaAnswer, route, type Route, shape } from '../../platform/http/index.ts';
import {
  backupBody,
  backupShapes,
  planBody,
  planFromWire,
  planToWire,
  rehearsalToWire,
  restoreBody,
} from './schema.ts';
import type { Backups } from './service.ts';

const PLAN = '/v3/backup/plan';

const BACKUP: MediaAnswer = {
  mediaType: 'application/octet-stream',
  about: 'The backup, for `restore` of the local commands and for `restore_backup`.',
  headers: { 'Content-Disposition': 'Name for the file: site and day.' },
};

/** Operations on backups: extensions of the interface. */
export function backupRoutes(backups: Backups): Route[] {
  return [...fileRoutes(backups), ...planRoutes(backups), ...rehearsalRoutes(backups)];
}

function rehearsalRoutes(backups: Backups): Route[] {
  return [
    route({
      operation: 'get_rehearsal',
      about: 'Whether this gateway is a restored copy that sends nothing.',
      answer: backupShapes.rehearsal,
      GET: ['/v3/backup/rehearsal'],
      role: 'READONLY',
      handle: () => rehearsalToWire(backups.rehearsal),
    }),
    route({
      operation: 'end_rehearsal',
      about: 'Ends the rehearsal: the gateway restarts, and takes the place of the one that was backed up.',
      answer: shape.nothing(),
      errors: ['409 no_rehearsal'],
      POST: ['/v3/backup/rehearsal/end'],
      role: 'OWNER',
      handle: () => backups.endRehearsal(),
    }),
  ];
}

function planRoutes(backups: Backups): Route[] {
  const plan = async () => ({ backup_plan: planToWire(await backups.status()) });
  return [
    route({
      operation: 'get_backup_plan',
      about: 'Schedule and target of automatic backups, and the last one that is known to be good.',
      answer: backupShapes.plan,
      GET: [PLAN],
      role: 'OWNER',
      handle: plan,
    }),
    route({
      operation: 'update_backup_plan',
      about: 'Changes the given members. Another target loses the password of the previous one.',
      answer: backupShapes.plan,
      errors: ['400 invalid_body'],
      PATCH: [PLAN],
      role: 'INSTALLER',
      body: planBody,
      handle: ({ body }) => {
        backups.update(planFromWire(body));
        return plan();
      },
    }),
    route({
      operation: 'run_backup_plan',
      about: 'Starts a backup by plan now; `get_backup_plan` tells the outcome.',
      answer: backupShapes.plan,
      errors: ['409 backup_in_progress', '409 backup_plan_incomplete', '409 in_rehearsal'],
      POST: [`${PLAN}/run`],
      role: 'INSTALLER',
      handle: async () => {
        await backups.run();
        return plan();
      },
    }),
  ];
}

/** Backups that people download and upload. */
function fileRoutes(backups: Backups): Route[] {
  return [
    route({
      operation: 'create_backup',
      about:
        'Everything that a new box needs to take over: site, devices with their credentials, blueprints, ' +
        'rules, users, tokens, keys; on request telemetry and logs. Sealed by the password.',
      answer: BACKUP,
      errors: ['409 backup_in_progress', '422 no_room'],
      POST: ['/v3/backup'],
      role: 'INSTALLER',
      body: backupBody,
      handle: async (call) => {
        const { body, signal } = call;
        const { fileName, stream } = await backups.open(body.password, {
          includeHistory: body.include_history ?? false,
          signal,
        });
        return call.streamed(stream, attachmentHeaders(BACKUP.mediaType, fileName));
      },
    }),
    route({
      operation: 'upload_backup',
      about:
        'Uploads a backup, or a plain copy of state.db, for `restore_backup`. Changes nothing yet; deleted after a day, ' +
        'or when the gateway restarts.',
      bodyMedia: ['application/octet-stream'],
      answer: backupShapes.upload,
      errors: ['413 payload_too_large'],
      POST: ['/v3/backup/upload'],
      role: 'INSTALLER',
      body: 'stream',
      bodyBytes: LIMITS.backup.uploadBytes,
      handle: async (call) => ({ upload: { size_bytes: await backups.upload(call.stream()) } }),
    }),
    route({
      operation: 'restore_backup',
      about:
        'Opens and checks the uploaded backup. Then the gateway restarts with it: site, devices, users ' +
        'and tokens are those of the backup. The previous state is kept aside. As a rehearsal it sends nothing.',
      answer: backupShapes.restore,
      errors: ['422 backup_refused'],
      POST: ['/v3/backup/restore'],
      role: 'INSTALLER',
      body: restoreBody,
      handle: async ({ body }) => {
        const info = await backups.restore({
          password: body.password ?? '',
          isRehearsal: body.rehearsal ?? false,
        });
        return {
          restore: {
            made_at: info?.made_at ?? null,
            version: info?.version ?? null,
            includes_history: info?.includes_history ?? false,
          },
        };
      },
    }),
  ];
}
