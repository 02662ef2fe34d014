import * as v from 'valibot';
import { errorOfProblems, unavailable } from '../../lib/errors.ts';
import { withoutSecrets } from '../../lib/redaction.ts';
import { type EpochMs, formatTimestamp } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Host } from '../../platform/host/index.ts';
import { attachment, type MediaAnswer, query, route, type Route } from '../../platform/http/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Appliance } from './service.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const healthShape = v.pipe(
  v.object({
    status: v.literal('ok'),
    version: v.string(),
    https_port: v.optional(
      v.pipe(v.number(), v.integer(), v.description('Where it answers over TLS; absent when it does not.')),
    ),
  }),
  v.examples([{ status: 'ok', version: '0.1.0' }]),
);

const readyShape = v.pipe(
  v.object({ status: v.literal('ready'), version: v.string() }),
  v.examples([{ status: 'ready', version: '0.1.0' }]),
);

const connectionShape = v.object({
  connection: v.pipe(
    v.object({
      remote_address: v.pipe(v.string(), v.description('Address that limits and the audit trail count.')),
      host: v.pipe(v.string(), v.description('Host that was asked for, without port.')),
      is_encrypted: v.pipe(v.boolean(), v.description('Over TLS, to the gateway or to a trusted proxy.')),
      is_forwarded: v.pipe(v.boolean(), v.description('Through a proxy of trusted_proxies.')),
      is_known_origin: v.optional(
        v.pipe(v.boolean(), v.description('Whether a page of `origin` may open streams with its login.')),
      ),
    }),
    v.examples([
      { remote_address: '192.168.1.20', host: 'gateway.example', is_encrypted: true, is_forwarded: true },
    ]),
  ),
});

const REPORT: MediaAnswer = {
  mediaType: 'application/json',
  about: 'Versions, options, faults, metrics and the newest lines of the log; without secrets.',
  headers: { 'Content-Disposition': 'Name for the file.' },
};

const METRICS: MediaAnswer = {
  mediaType: 'text/plain',
  about: 'Metrics in the text format of Prometheus.',
};

/** Health and metrics, for service managers and monitoring. */
export function applianceRoutes(options: {
  appliance: Appliance;
  metrics: Metrics;
  version: string;
  report: () => Promise<string>;
}): Route[] {
  return [
    route({
      operation: 'get_health',
      about: 'Whether everything serves; for service managers and monitoring.',
      answer: healthShape,
      GET: ['/healthz'],
      role: null,
      beforeClaim: true,
      handle: () => {
        if (!options.appliance.isServing()) throw unavailable('The gateway is starting.');
        const { httpsPort } = options.appliance;
        const secure = httpsPort === undefined ? {} : { https_port: httpsPort };
        return { status: 'ok' as const, version: options.version, ...secure };
      },
    }),
    route({
      operation: 'get_readiness',
      about:
        'Whether everything works: servers, databases, history, child programs; after an upgrade, and before ' +
        'traffic is sent here. `errors` names each thing that does not.',
      answer: readyShape,
      errors: [
        '503 starting',
        '503 state_degraded',
        '503 history_degraded',
        '503 data_folder_unreadable',
        '503 disk_full',
        '503 program_not_running',
      ],
      GET: ['/readyz'],
      role: null,
      beforeClaim: true,
      handle: () => {
        const fault = errorOfProblems('unavailable', options.appliance.faults());
        if (fault) throw fault;
        return { status: 'ready' as const, version: options.version };
      },
    }),
    connectionRoute(),
    route({
      operation: 'get_metrics',
      about: 'Counters and gauges of the gateway.',
      answer: METRICS,
      GET: ['/metrics'],
      role: 'READONLY',
      handle: async () =>
        new Response(await options.metrics.text(), {
          headers: { 'Content-Type': METRICS_TYPE, 'Cache-Control': 'no-store' },
        }),
    }),
    route({
      operation: 'get_problem_report',
      about: 'Data for remote support. Everything that looks like a secret is removed.',
      answer: REPORT,
      GET: ['/v3/problem_report'],
      role: 'OWNER',
      handle: async () => attachment(await options.report(), REPORT.mediaType, 'problem-report.json'),
    }),
  ];
}

/** Helps to set up a reverse proxy, and tells the console why it has no stream. */
function connectionRoute(): Route {
  return route({
    operation: 'get_connection',
    about: 'How the gateway sees the caller: shows whether a reverse proxy is set up well (docs/proxy.md).',
    answer: connectionShape,
    GET: ['/v3/connection'],
    role: 'READONLY',
    query: v.object({
      origin: v.optional(query.text('Origin of a page, as its browser names it: protocol, host and port.')),
    }),
    handle: (call) => {
      const { origin } = call.query;
      return {
        connection: {
          remote_address: call.remoteAddress,
          host: call.host,
          is_encrypted: call.isEncrypted,
          is_forwarded: call.isForwarded,
          ...(origin !== undefined && { is_known_origin: call.isOwnOrigin(origin) }),
        },
      };
    },
  });
}

// The problem report: data for remote support, without secrets.

/** Sources of a problem report. */
export interface ReportOptions {
  appliance: Appliance;
  clock: Clock;
  host: Host;
  metrics: Metrics;
  version: string;
  /** Effective options. */
  options: Readonly<Record<string, unknown>>;
  /** Checked copies of state.db on this disk, the newest first; undefined while the disk does not tell. */
  copies: () => readonly { madeAtMs: EpochMs }[] | undefined;
  /** Field traces of devices, as the interface shows them. */
  traces: () => readonly object[];
  /** Newest lines of the service log. */
  recentLog: () => readonly string[];
  /** Secrets that must not appear anywhere in the report. */
  secrets: () => readonly string[];
}

/** One JSON document; every text in it went through `withoutSecrets`. */
export async function problemReport(parts: ReportOptions): Promise<string> {
  const { appliance, clock, host, metrics, version } = parts;
  const { serialNumber: _, ...facts } = host.facts();
  const status = appliance.status();
  const report = {
    made_at: formatTimestamp(clock.wallMs()),
    version,
    runtime: process.version,
    clock_is_set: clock.isSet(),
    host: facts,
    load: host.load(),
    options: parts.options,
    faults: appliance.faults(),
    status,
    integrity: {
      state_copies_checked_at: parts.copies()?.map(({ madeAtMs }) => formatTimestamp(madeAtMs)) ?? null,
    },
    metrics: (await metrics.text()).split('\n').filter((line) => !line.startsWith('#')),
    traces: parts.traces(),
    log: parts.recentLog(),
  };
  const known = parts.secrets();
  const clean = (key: string, value: unknown): unknown =>
    typeof value === 'string' && key !== 'made_at' ? withoutSecrets(value, known) : value;
  return `${JSON.stringify(report, clean, 2)}\n`;
}
