/** A dry run in this thread, with a gateway made of answers and of samples that the test gives. */
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import type { DurationMs } from '../../src/lib/time.ts';
import { nextTurn } from '../../src/platform/clock/index.ts';
import { processorMs } from '../../src/platform/threads/index.ts';
import { dryRun } from '../../src/scripting/rule-sandbox/dry-run/dry-run.ts';
import type { DryRunEntry, DryRunPeriod, DryRunReport, RecordedSample } from '../../src/protocol/dry-run.ts';
import type {
  RecordedRequest,
  RuleAnswer,
  RuleScript,
  SandboxSite,
} from '../../src/protocol/rule-sandbox.ts';
import type { OutputParameters } from '../../src/protocol/output.ts';
import type { JsonValue } from '../../src/protocol/telemetry.ts';
import { system } from './lua.ts';
import { BATTERY, ok, refused } from './rule-run.ts';

export const FROM_MS = Date.UTC(2026, 2, 1);
export const HOUR_MS = 3_600_000;

export interface DryRunTrial {
  report: Omit<DryRunReport, 'entries'>;
  entries: DryRunEntry[];
  asked: RecordedRequest[];
  faults: string[];
  /** Minutes since the beginning, kind, and what says most about the entry. */
  story: () => string[];
}

export interface DryRunTrialOptions {
  rule?: Partial<RuleScript>;
  period?: Partial<DryRunPeriod>;
  site?: SandboxSite;
  /** Samples of the battery by attribute: seconds since the beginning, value. */
  recorded?: Record<string, readonly (readonly [number, JsonValue])[]>;
  /** How many samples one answer has. */
  pieceSamples?: number;
  answers?: Partial<
    Record<RecordedRequest['method'], (parameters: never) => RuleAnswer | Promise<RuleAnswer>>
  >;
  limits?: Partial<Limits['rules']['dryRun']>;
  turnMs?: DurationMs;
  /** Default: of this thread. */
  processorMs?: () => DurationMs;
}

export async function tryDry(code: string, options: DryRunTrialOptions = {}): Promise<DryRunTrial> {
  const asked: RecordedRequest[] = [];
  const entries: DryRunEntry[] = [];
  const faults: string[] = [];
  const answers = { ...gatewayOf(options), ...options.answers };
  const report = await dryRun({
    rule: { id: 'r-1', slug: 'rule', runtimeVersion: 'V3', code, execIntervalMs: 60_000, ...options.rule },
    period: { fromMs: FROM_MS, toMs: FROM_MS + HOUR_MS, ...options.period },
    site: () => options.site ?? { timeZone: 'UTC' },
    limits: {
      ...LIMITS,
      lua: { ...LIMITS.lua, turnMs: options.turnMs ?? LIMITS.lua.turnMs },
      rules: { ...LIMITS.rules, dryRun: { ...LIMITS.rules.dryRun, ...options.limits } },
    },
    clock: system,
    processorMs: options.processorMs ?? processorMs,
    nextTurn,
    ask: async (request) => {
      asked.push(request);
      return answers[request.method](request.parameters as never);
    },
    tell: (entry) => entries.push(entry),
    onSlice: () => undefined,
    onFault: (text) => faults.push(text),
  });
  const story = (): string[] =>
    entries.map((entry) => {
      const minute = (entry.atMs - FROM_MS) / 60_000;
      return `${minute} ${entry.kind} ${gistOf(entry)}`;
    });
  return { report, entries, asked, faults, story };
}

function gistOf(entry: DryRunEntry): string {
  switch (entry.kind) {
    case 'log':
    case 'error':
      return entry.message.split('\n')[0] ?? '';
    case 'command':
      return `${entry.name} ${JSON.stringify(entry.arguments)}${entry.error ? ` ${entry.error}` : ''}`;
    case 'storage':
      return `${entry.store}/${entry.key} ${entry.value ?? 'removed'}`;
    case 'http':
      return `${entry.method} ${entry.url}`;
    case 'notification':
      return `${entry.severity} ${entry.title}: ${entry.text}${entry.error ? ` ${entry.error}` : ''}`;
    case 'restart':
      return `after ${entry.afterMs}`;
  }
}

function gatewayOf({ recorded = {}, pieceSamples = 1_000 }: DryRunTrialOptions) {
  return {
    find_device: ({ idOrSlug }: { idOrSlug: string }) =>
      idOrSlug === BATTERY.id || idOrSlug === BATTERY.slug
        ? ok({ ...BATTERY })
        : refused(`device "${idOrSlug}" not found`),
    list_devices: () => ok([{ ...BATTERY }]),
    device_profiles: ({ deviceId }: { deviceId: string }) =>
      deviceId === BATTERY.id ? ok(['energy.battery']) : refused('device not found'),
    property: () => ok('B-1'),
    properties: () => ok({ model: 'B-1' }),
    storage_read: () => ok(null),
    aggregate_at: () => ok(1),
    check_command: ({ name }: { name: string }) =>
      name === 'charge' ? ok(null) : refused(`no command "${name}"`),
    check_output: ({ name, arguments: given, options: { safe } }: OutputParameters) =>
      name === 'charge'
        ? ok({
            output: '',
            command: given && { name, arguments: given },
            safe: { name: 'stop', arguments: {} },
          })
        : refused(`no command "${name}" with ${JSON.stringify(safe)}`),
    samples: ({ name, afterMs, toMs }: { name: string; afterMs: number; toMs: number }) => {
      const samples = recorded[name]?.map(([s, value]): RecordedSample => [FROM_MS + s * 1_000, value]);
      if (!samples) return refused(`unknown telemetry attribute "${name}"`);
      const later = samples.filter(([atMs]) => atMs > afterMs && atMs <= toMs);
      return ok({
        before: samples.findLast(([atMs]) => atMs <= afterMs) ?? null,
        samples: later.slice(0, pieceSamples),
        isComplete: later.length <= pieceSamples,
      });
    },
  } satisfies Record<RecordedRequest['method'], (parameters: never) => RuleAnswer>;
}
