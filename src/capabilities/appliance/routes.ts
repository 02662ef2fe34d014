/** Health and metrics, for service managers and monitoring; backups. */
import * as v from 'valibot';
import { errorOfProblems, gatewayError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type MediaAnswer, route, type Route } from '../../platform/http/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Backups } from './backup.ts';
import type { Appliance } from './service.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const healthShape = v.pipe(
  v.object({ status: v.literal('ok'), version: v.string() }),
  v.examples([{ status: 'ok', version: '0.1.0' }]),
);

const readyShape = v.pipe(
  v.object({ status: v.literal('ready'), version: v.string() }),
  v.examples([{ status: 'ready', version: '0.1.0' }]),
);

const METRICS: MediaAnswer = {
  mediaType: 'text/plain',
  about: 'Metrics in the text format of Prometheus.',
};

const BACKUP: MediaAnswer = {
  mediaType: 'application/octet-stream',
  about: 'The backup, for `restore` of the local commands.',
  headers: { 'Content-Disposition': 'Name for the file: site and day.' },
};

const { passwordLengthMin, passwordLengthMax } = LIMITS.backup;

const backupBody = v.object({
  password: v.pipe(
    v.string(),
    v.minLength(passwordLengthMin, `must have at least ${passwordLengthMin} characters`),
    v.maxLength(passwordLengthMax, `must have at most ${passwordLengthMax} characters`),
    v.description('Opens the backup; nobody can open it without.'),
    v.examples(['a long sentence']),
  ),
});

export function applianceRoutes(options: {
  appliance: Appliance;
  backups: Backups;
  metrics: Metrics;
  version: string;
}): Route[] {
  return [
    route({
      operation: 'get_health',
      about: 'Whether everything serves; for service managers and monitoring.',
      answer: healthShape,
      method: 'GET',
      paths: ['/healthz'],
      role: null,
      beforeClaim: true,
      handle: () => {
        if (!options.appliance.isServing())
          throw gatewayError('unavailable', 'unavailable', 'The gateway is starting.');
        return { status: 'ok' as const, version: options.version };
      },
    }),
    route({
      operation: 'get_readiness',
      about:
        'Whether everything works: servers, databases, history, child programs; after an upgrade, and before ' +
        'traffic is sent here. `errors` names each thing that does not.',
      answer: readyShape,
      errors: ['503 starting', '503 history_degraded', '503 disk_full', '503 program_not_running'],
      method: 'GET',
      paths: ['/readyz'],
      role: null,
      beforeClaim: true,
      handle: () => {
        const fault = errorOfProblems('unavailable', options.appliance.faults());
        if (fault) throw fault;
        return { status: 'ready' as const, version: options.version };
      },
    }),
    route({
      operation: 'get_metrics',
      about: 'Counters and gauges of the gateway.',
      answer: METRICS,
      method: 'GET',
      paths: ['/metrics'],
      role: 'READONLY',
      handle: async () =>
        new Response(await options.metrics.text(), {
          headers: { 'Content-Type': METRICS_TYPE, 'Cache-Control': 'no-store' },
        }),
    }),
    route({
      operation: 'create_backup',
      about:
        'Everything that a new box needs to go on as this one: site, devices with their credentials, blueprints, ' +
        'rules, users, tokens, keys. Without telemetry and logs. Sealed by the password.',
      answer: BACKUP,
      errors: ['409 backup_in_progress'],
      method: 'POST',
      paths: ['/v3/backup'],
      role: 'INSTALLER',
      body: backupBody,
      handle: async ({ body }) => {
        const { fileName, stream } = await options.backups.open(body.password);
        return new Response(stream, {
          headers: {
            'Content-Type': BACKUP.mediaType,
            'Content-Disposition': `attachment; filename="${fileName}"`,
            'Cache-Control': 'no-store',
          },
        });
      },
    }),
  ];
}
