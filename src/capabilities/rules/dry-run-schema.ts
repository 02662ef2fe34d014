/** A dry run on the wire; an extension, as the contract has none. */
import * as v from 'valibot';
import { formatDurationMs } from '../../lib/duration.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { shape } from '../../platform/http/index.ts';
import {
  DRY_RUN_ENDS,
  DRY_RUN_KINDS,
  DRY_RUN_LIMITS,
  type DryRunEntry,
  type DryRunPeriod,
} from '../../protocol/dry-run.ts';
import { LOG_SEVERITIES } from '../../protocol/device-log.ts';
import { writableJson } from '../../protocol/telemetry.ts';
import { instantS } from '../telemetry/index.ts';
import type { DryRunResult } from './model.ts';
import { script } from './schema.ts';
import type { DryRunRequest } from './service.ts';

const fields = { from: instantS, to: instantS };

const ruleId = v.pipe(
  v.string(),
  v.description('Id or slug of the rule whose storage is meant, and its script.'),
);

/** Null counts as absent. */
export const dryRunBody = v.pipe(
  v.object({ ...fields, script: v.nullish(script), rule_id: v.nullish(v.string()) }),
  shape.wire(
    v.union([
      v.object({ ...fields, script, rule_id: v.optional(ruleId) }),
      v.object({ ...fields, rule_id: ruleId }),
    ]),
  ),
  shape.example({ from: '2026-03-01T08:00:00Z', to: '2026-03-01T09:00:00Z', rule_id: 'surplus-to-load' }),
  v.check(({ script: given, rule_id: rule }) => Boolean(given ?? rule), 'must have a script or a rule_id'),
  v.transform(({ from, to, script: given, rule_id: rule }): DryRunRequest => ({
    script: given ?? undefined,
    rule: rule ?? undefined,
    period: { fromMs: Math.ceil(from * 1_000), toMs: Math.floor(to * 1_000) },
  })),
);

export function dryRunToWire({
  period,
  end,
  limit,
  endedAtMs,
  entries,
  counts,
  read,
}: DryRunResult & { period: DryRunPeriod }) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    from: formatTimestamp(period.fromMs),
    to: formatTimestamp(period.toMs),
    end,
    ...(limit && { limit }),
    ended_at: formatTimestamp(endedAtMs),
    entries: entries.map(entryToWire),
    truncated: entries.length < total,
    counts,
    read: read.map(({ deviceId, attribute }) => ({ device_id: deviceId, attribute })),
  };
}

function entryToWire({ atMs, ...entry }: DryRunEntry) {
  return { timestamp: formatTimestamp(atMs), kind: entry.kind, ...detailsOf(entry) };
}

function detailsOf(entry: WithoutTime<DryRunEntry>) {
  switch (entry.kind) {
    case 'command': {
      const { deviceId, name, arguments: given, error } = entry;
      return {
        device_id: deviceId,
        name,
        arguments: writableJson(given) as Record<string, unknown>,
        ...(error !== undefined && { error }),
      };
    }
    case 'restart':
      return { after: formatDurationMs(entry.afterMs) };
    default: {
      const { kind: _kind, ...details } = entry;
      return details;
    }
  }
}

type WithoutTime<Entry> = Entry extends unknown ? Omit<Entry, 'atMs'> : never;

const entryShape = shape.named(
  'DryRunEntry',
  v.object({
    timestamp: shape.instant(),
    kind: v.picklist(DRY_RUN_KINDS),
    severity: v.optional(v.pipe(v.picklist(LOG_SEVERITIES), v.description('Of a log entry.'))),
    message: v.optional(v.pipe(v.string(), v.description('Of a log entry or an error.'))),
    device_id: v.optional(v.pipe(shape.id(), v.description('Of a command.'))),
    name: v.optional(v.pipe(v.string(), v.description('Of a command.'))),
    arguments: v.optional(v.pipe(shape.anyObject(), v.description('Of a command.'))),
    error: v.optional(v.pipe(v.string(), v.description('Why a command would be refused.'))),
    store: v.optional(
      v.pipe(v.picklist(['rule', 'shared', 'public']), v.description('That a value was written to.')),
    ),
    key: v.optional(v.pipe(v.string(), v.description('Of a stored value.'))),
    value: v.optional(
      v.pipe(v.string(), v.description('JSON text, cut when it is long; absent when the key was removed.')),
    ),
    method: v.optional(v.pipe(v.string(), v.description('Of an HTTP request, which was not sent.'))),
    url: v.optional(v.pipe(v.string(), v.description('Of an HTTP request.'))),
    after: v.optional(v.pipe(v.string(), v.description('Pause before a failed script starts again.'))),
  }),
  {
    timestamp: '2026-03-01T12:04:00.000Z',
    kind: 'command',
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    name: 'close',
    arguments: {},
  },
);

/** Wire shape of the answer, for the API description. */
export const dryRunShape = v.object({
  dry_run: shape.named(
    'DryRun',
    v.object({
      from: shape.instant(),
      to: v.pipe(shape.instant(), v.description('Not later than now.')),
      end: v.pipe(
        v.picklist(DRY_RUN_ENDS),
        v.description('`failed`: the script does not compile or had to be ended.'),
      ),
      limit: v.optional(
        v.pipe(v.picklist(DRY_RUN_LIMITS), v.description('What was used up, with `limit_reached`.')),
      ),
      ended_at: v.pipe(shape.instant(), v.description('How far it came in the period.')),
      entries: v.pipe(v.array(entryShape), v.description('What the script did, in order.')),
      truncated: v.pipe(v.boolean(), v.description('There were more entries than are listed.')),
      counts: v.pipe(
        v.object(Object.fromEntries(DRY_RUN_KINDS.map((kind) => [kind, v.optional(shape.count())]))),
        v.description('Of every kind, those not listed included; absent: none.'),
      ),
      read: v.pipe(
        v.array(v.object({ device_id: shape.id(), attribute: v.string() })),
        v.description('Telemetry that the script read, by the names of the manifest, as it came to it.'),
      ),
    }),
    {
      from: '2026-03-01T00:00:00.000Z',
      to: '2026-03-02T00:00:00.000Z',
      end: 'period_ended',
      ended_at: '2026-03-02T00:00:00.000Z',
      entries: [
        {
          timestamp: '2026-03-01T12:04:00.000Z',
          kind: 'command',
          device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
          name: 'close',
          arguments: {},
        },
      ],
      truncated: false,
      counts: { command: 1 },
      read: [{ device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01', attribute: 'battery_soc' }],
    },
  ),
});

export type DryRunOnWire = v.InferOutput<typeof dryRunShape>['dry_run'];
