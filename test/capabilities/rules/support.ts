/** Rules on real databases with real telemetry and commands; devices and the sandbox's process are played. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import { Commands } from '../../../src/capabilities/commands/index.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { Outputs } from '../../../src/capabilities/outputs/index.ts';
import {
  type CallMethod,
  type CallRecordedMethod,
  createRuleMethods,
  createRecordedMethods,
  Rules,
  type NewRule,
  type Rule,
  type RuleRunner,
} from '../../../src/capabilities/rules/index.ts';
import { Telemetry, ThreadedHistory } from '../../../src/capabilities/telemetry/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import type { Log } from '../../../src/platform/log/index.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics/index.ts';
import { programEntry } from '../../../src/platform/processes/index.ts';
import {
  createGroupCommit,
  type Database,
  type GroupCommit,
  type SyncFile,
} from '../../../src/platform/sqlite/index.ts';
import type { RuleAnswer, RuleMethod, RuleRequest, RuleMethods } from '../../../src/protocol/rule-sandbox.ts';
import { openMigrated } from '../../support/databases.ts';
import { createDeviceFaces, type DeviceFaces, type NewDevice } from '../../support/device-faces.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, MIGRATIONS_DIR, recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { acknowledged, TEST_POLICY, withoutPrototype } from '../telemetry/support.ts';

export interface Records {
  clock: TestClock;
  state: Database;
  history: Database;
  commits: GroupCommit;
  rules: Rules;
  lines: LogLine[];
  metrics: Metrics;
  /** Stops and starts again on the same files, without a runner. */
  restart(): Promise<void>;
  /** Messages of a rule's log, oldest first. */
  messages(rule: { id: string }, limit?: number): string[];
  folder: string;
}

export const ALL = { severities: undefined, limit: 10_000, offset: 0 };

/** The records of rules; nothing else is there. */
export async function startRecords(
  test: Pick<TestContext, 'after'>,
  options: {
    limits?: Partial<Limits['rules']>;
    commits?: Partial<Limits['commits']>;
    /** How state.db is synced, beside the event loop; absent: with each commit. */
    syncState?: SyncFile;
  } = {},
): Promise<Records> {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const folder = temporaryFolder(test);
  const open = (name: 'state' | 'history', sync?: SyncFile): Database =>
    openMigrated(name, {
      path: join(folder, `${name}.db`),
      clock,
      log,
      ...(sync && { sync }),
    });
  const [state, history] = [open('state', options.syncState), open('history')];
  let number = 0;

  const build = () => {
    const metrics = createMetrics();
    const commits = createGroupCommit({
      database: history,
      name: 'history',
      clock,
      log,
      metrics,
      limits: { ...LIMITS.commits, ...options.commits },
    });
    const rules = new Rules({
      database: state,
      history,
      historyCommits: commits,
      clock,
      log,
      metrics,
      limits: { ...LIMITS, rules: { ...LIMITS.rules, ...options.limits } },
      newId: () => `30000000-0000-4000-8000-${String(++number).padStart(12, '0')}`,
    });
    return { metrics, commits, rules };
  };
  const stop = async (): Promise<void> => {
    await parts.rules.stop();
    await parts.commits.stop();
  };
  let parts = build();
  test.after(async () => {
    await stop();
    state.close();
    history.close();
  });
  const records: Records = {
    clock,
    state,
    history,
    lines,
    folder,
    ...parts,
    restart: async () => {
      await stop();
      Object.assign(records, (parts = build()));
    },
    messages: (rule, limit = ALL.limit) =>
      records.rules.logs.list(rule.id, { ...ALL, limit }).entries.map(({ message }) => message),
  };
  return records;
}

export function newRule(slug: string, fields: Partial<NewRule> = {}): NewRule {
  const script = { code: 'x = 1', runtimeVersion: 'V3', execIntervalMs: undefined } as const;
  return { slug, script, disabled: false, ...fields };
}

/** A runner that records its orders. */
export function notingRunner(started: ReadonlySet<string> = new Set()): {
  runner: RuleRunner;
  told: string[];
} {
  const told: string[] = [];
  return {
    told,
    runner: {
      run: ({ slug, script }) => void told.push(`run ${slug} ${script.runtimeVersion}`),
      update: ({ slug, traced }) =>
        void told.push(traced === undefined ? `rename ${slug}` : `trace ${slug} ${traced}`),
      runs: async () => [],
      runNow: async (ruleId) => {
        told.push(`run now ${ruleId.slice(-2)}`);
        return [];
      },
      end: (ruleId) => void told.push(`end ${ruleId.slice(-2)}`),
      condition: (ruleId) => ({
        isStarted: started.has(ruleId),
        isStarting: false,
        restartsAtMs: undefined,
      }),
      startDone: async () => undefined,
      dryRun: async ({ slug }, { fromMs, toMs }) => {
        told.push(`dry run ${slug}`);
        const entries = [{ atMs: fromMs, kind: 'log', severity: 'info', message: 'hello' } as const];
        return { end: 'period_ended', endedAtMs: toMs, entries, counts: { log: 2 }, read: [] };
      },
    },
  };
}

export interface Site extends Records, Omit<DeviceFaces, 'publish'> {
  faces: DeviceFaces;
  telemetry: Telemetry;
  commands: Commands;
  outputs: Outputs;
  callMethod: CallMethod;
  callRecordedMethod: CallRecordedMethod;
  rule: Rule;
  addDevice(fields?: NewDevice): Device;
  setProperties(device: Device, properties: Record<string, unknown>): void;
  /** Telemetry of a device, on disk when it resolves. */
  measure(device: Device, values: Record<string, unknown>): Promise<void>;
  /** The rule asks; text of an error, or the result. */
  request<Method extends RuleMethod>(method: Method, parameters: RuleMethods[Method]): Promise<RuleAnswer>;
}

/** Rules with devices, their telemetry and commands below. */
export async function startSite(
  test: Pick<TestContext, 'after'>,
  options: Parameters<typeof startRecords>[1] = {},
): Promise<Site> {
  // Stopped last: hooks of a test run in the order of their registration, so the rest is stopped by hand.
  const ends: (() => unknown)[] = [];
  const records = await startRecords({ after: (end) => void ends.push(end as () => unknown) }, options);
  const { clock, state, metrics, folder } = records;
  const { log } = recordingLog(clock);
  const faces = createDeviceFaces({ state, clock });
  const properties = new Map<string, Record<string, unknown>>();
  const devices = Object.assign(faces.devices, {
    properties: (device: Device) => properties.get(device.id) ?? {},
  });
  const stateCommits = createGroupCommit({ database: state, name: 'state', clock, log, metrics });
  const { connectivity } = faces;
  const commands = new Commands({
    database: state,
    commits: stateCommits,
    clock,
    log,
    metrics,
    devices,
    connectivity,
  });
  const telemetry = telemetryOf({ folder, clock, metrics, log, devices, connectivity });
  await commands.start();
  await telemetry.start();
  test.after(async () => {
    await telemetry.stop();
    outputs.stop();
    await commands.stop();
    await stateCommits.stop();
    for (const end of ends) await end();
  });
  const outputs = new Outputs({ database: state, clock, log, metrics, devices, commands });
  outputs.start((ruleId, severity, message) => records.rules.logs.append(ruleId, severity, message));
  const asked = {
    outputs,
    // Nobody has set up a channel.
    notifications: { notifyOf: () => false },
    database: state,
    store: records.rules.storage,
    clock,
    limits: { ...LIMITS.rules, ...options.limits },
    devices,
    telemetry,
    commands,
  };
  const callMethod = createRuleMethods(asked);
  const callRecordedMethod = createRecordedMethods(asked, callMethod);
  const rule = records.rules.create(newRule('asking'));
  return Object.assign(faces, records, {
    faces,
    telemetry,
    commands,
    outputs,
    callMethod,
    callRecordedMethod,
    rule,
    setProperties: (device: Device, values: Record<string, unknown>) =>
      void properties.set(device.id, values),
    measure: (device: Device, values: Record<string, unknown>) =>
      acknowledged(
        clock,
        telemetry.handle({ device, body: withoutPrototype(values), receivedAtMs: clock.wallMs() }),
      ),
    request: <Method extends RuleMethod>(method: Method, parameters: RuleMethods[Method]) =>
      callMethod(rule, { method, parameters } as RuleRequest),
  });
}

function telemetryOf(
  parts: Pick<Records, 'folder' | 'clock' | 'metrics'> & {
    log: Log;
    devices: DeviceFaces['devices'];
    connectivity: DeviceFaces['connectivity'];
  },
): Telemetry {
  const { folder, clock, log, metrics, devices, connectivity } = parts;
  const journalFolder = join(folder, 'journal');
  return new Telemetry({
    clock,
    log,
    metrics,
    devices,
    connectivity,
    history: new ThreadedHistory({
      clock,
      log,
      metrics,
      entry: programEntry('telemetry-store/engine/thread'),
      databasePath: join(folder, 'history.db'),
      migrationsDir: join(MIGRATIONS_DIR, 'history'),
      journalFolder,
      policy: TEST_POLICY,
      limits: LIMITS.telemetry,
    }),
    journalFolder,
    site: () => ({ id: '22222222-0000-4000-8000-000000000000', name: 'Depot', timezone: 'UTC' }),
  });
}

/** A manifest with a number, a text, an alias, a profile and one attribute above every rule. */
export function batteryManifest(): CompiledManifest {
  const declared = { display_name: 'x', access_level: 'readonly', implements: [], aliases: [] } as const;
  return {
    blueprint_spec: 'device_compiled/3.0',
    display_name: 'Battery',
    implements: ['energy.battery', 'lib.device'],
    properties: {
      model: { ...declared, type: 'string', aliases: ['model_name'] },
      serial: { ...declared, type: 'string' },
    },
    telemetry: {
      soc: { ...declared, type: 'float', aliases: ['battery_soc'] },
      status: { ...declared, type: 'string' },
      secret: { ...declared, type: 'float', access_level: 'system' },
    },
    alerts: { hot: { ...declared, severity: 'warning' } },
    commands: {
      charge: {
        ...declared,
        group: 'main',
        access_level: 'user',
        arguments: { limit_w: { display_name: 'x', type: 'float', required: true, min: 0 } },
      },
      plan: {
        ...declared,
        group: 'main',
        access_level: 'user',
        arguments: {
          days: { display_name: 'x', type: 'array_of_strings' },
          limit_w: { display_name: 'x', type: 'float' },
          steps: { display_name: 'x', type: 'json' },
        },
      },
      calibrate: { ...declared, group: 'main', access_level: 'system' },
    },
    configuration: {},
  } as unknown as CompiledManifest;
}
