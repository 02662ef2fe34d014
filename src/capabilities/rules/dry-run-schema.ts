/** A dry run on the wire; an extension, as the contract has none. */
import * as v from 'valibot';
import { formatDurationMs, formatTimestamp } from '../../lib/time.ts';
import { shape } from '../../platform/http/index.ts';
import {
  DRY_RUN_ENDS,
  DRY_RUN_KINDS,
  DRY_RUN_LIMITS,
  type DryRunEntry,
  type DryRunPeriod,
} from '../../protocol/dry-run.ts';
import { LOG_SEVERITIES } from '../../protocol/device-log.ts';
import { writableJson } from '../../lib/json.ts';
import { instantS } from '../telemetry/index.ts';
import type { DryRunResult } from './model.ts';
import { script } from './schema.ts';
import type { DryRunRequest } from './service.ts';

const fields = { from: instantS, to: instantS };

const ruleId = shape.about(v.string(), 'Id or slug of the rule whose storage is meant, and its script.');

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

export function dryRunToWire({ period, ...run }: DryRunResult & { period: DryRunPeriod }) {
  const total = Object.values(run.counts).reduce((sum, count) => sum + count, 0);
  return {
    from: formatTimestamp(period.fromMs),
    to: formatTimestamp(period.toMs),
    end: run.end,
    ...(run.limit && { limit: run.limit }),
    ended_at: formatTimestamp(run.endedAtMs),
    entries: run.entries.map(entryToWire),
    truncated: run.entries.length < total,
    counts: run.counts,
    read: run.read.map(({ deviceId, attribute }) => ({ device_id: deviceId, attribute })),
  };
}

function entryToWire({ atMs, ...entry }: DryRunEntry) {
  const at = formatTimestamp(atMs);
  switch (entry.kind) {
    case 'command': {
      const { deviceId, arguments: given, ...rest } = entry;
      return {
        at,
        ...rest,
        device_id: deviceId,
        arguments: writableJson(given) as Record<string, unknown>,
      };
    }
    case 'restart':
      return { at, kind: entry.kind, after: formatDurationMs(entry.afterMs) };
    default:
      return { at, ...entry };
  }
}

const EXAMPLE_ENTRY = {
  at: '2026-03-01T12:04:00.000Z',
  kind: 'command' as const,
  device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
  name: 'close',
  arguments: {},
};

const entryShape = shape.named(
  'DryRunEntry',
  v.object({
    at: shape.instant(),
    kind: v.picklist(DRY_RUN_KINDS),
    severity: v.optional(shape.about(v.picklist(LOG_SEVERITIES), 'Of a log entry or a notification.')),
    message: v.optional(shape.about(v.string(), 'Of a log entry or an error.')),
    device_id: v.optional(shape.about(shape.id(), 'Of a command.')),
    name: v.optional(shape.about(v.string(), 'Of a command.')),
    arguments: v.optional(shape.about(shape.anyObject(), 'Of a command.')),
    error: v.optional(shape.about(v.string(), 'Why a command or a notification would be refused.')),
    store: v.optional(shape.about(v.picklist(['rule', 'shared', 'public']), 'That a value was written to.')),
    key: v.optional(shape.about(v.string(), 'Of a stored value.')),
    value: v.optional(
      shape.about(v.string(), 'JSON text, cut when it is long; absent when the key was removed.'),
    ),
    method: v.optional(shape.about(v.string(), 'Of an HTTP request, which was not sent.')),
    url: v.optional(shape.about(v.string(), 'Of an HTTP request.')),
    title: v.optional(shape.about(v.string(), 'Of a notification, which was not sent.')),
    text: v.optional(shape.about(v.string(), 'Of a notification.')),
    after: v.optional(shape.about(v.string(), 'Pause before a failed script starts again.')),
  }),
  EXAMPLE_ENTRY,
);

export const dryRunShape = v.object({
  dry_run: shape.named(
    'DryRun',
    v.object({
      from: shape.instant(),
      to: shape.about(shape.instant(), 'Not later than now.'),
      end: shape.about(v.picklist(DRY_RUN_ENDS), '`failed`: the script does not compile or had to be ended.'),
      limit: v.optional(shape.about(v.picklist(DRY_RUN_LIMITS), 'What was used up, with `limit_reached`.')),
      ended_at: shape.about(shape.instant(), 'How far it came in the period.'),
      entries: shape.about(v.array(entryShape), 'What the script did, in order.'),
      truncated: shape.about(v.boolean(), 'There were more entries than are listed.'),
      counts: shape.about(
        v.object(Object.fromEntries(DRY_RUN_KINDS.map((kind) => [kind, v.optional(shape.count())]))),
        'Of every kind, those not listed included; absent: none.',
      ),
      read: shape.about(
        v.array(v.object({ device_id: shape.id(), attribute: v.string() })),
        'Telemetry that the script read, by the names of the manifest, as it came to it.',
      ),
    }),
    {
      from: '2026-03-01T00:00:00.000Z',
      to: '2026-03-02T00:00:00.000Z',
      end: 'period_ended',
      ended_at: '2026-03-02T00:00:00.000Z',
      entries: [EXAMPLE_ENTRY],
      truncated: false,
      counts: { command: 1 },
      read: [{ device_id: EXAMPLE_ENTRY.device_id, attribute: 'battery_soc' }],
    },
  ),
});

export type DryRunOnWire = v.InferOutput<typeof dryRunShape>['dry_run'];
