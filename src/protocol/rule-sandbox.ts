/**
 * What gateway and rule sandbox say to each other over the channel of `platform/processes`. Every payload is one
 * message as JSON text (`encodeSandboxMessage`, `decodeSandboxMessage`); integers beyond 2^53 are exact. What a rule asks
 * and is answered stands in a second line, its content, which the sandbox's main thread hands on unread.
 *
 * Life. The sandbox starts knowing nothing but its settings; whenever it runs (again), the gateway sends `start`
 * for every rule that shall run. It then keeps each of them running by itself: a failed rule starts again after a
 * pause, a rule that stuck is ended together with its thread, its neighbours start again at once. What a rule
 * does comes with `state`, what it logs with `log`. `generation` is a number of the gateway's choice that grows
 * with every `start` of a rule; it comes back with `state` and `log`, so that late messages can be told apart.
 *
 * Traces. What runs of a rule saw and did stays in its thread until `trace` asks for it, or the script ends; `run_now` runs
 * its functions at once. Both are answered by `runs` with their `id`.
 *
 * Requests. A rule that needs the gateway asks with `request`; the gateway answers each one, in any order, with
 * `answer`: what stands above the method in `RuleMethods` (null where nothing does), or an error, which is a text
 * for the script. `run` numbers the lives of scripts: when one ends, for whatever reason, `run_ended` is sent, its
 * watches end, its open requests need no answer. A command that was already sent goes on.
 *
 * Dry runs. With `dry_run` the gateway has one script go through a past period in virtual time, on a thread of its
 * own beside the rules; one at a time. It asks with `dry_run_request` and ends with `dry_run_over`, unless
 * `dry_run_end` ends it before: then nothing more comes of it.
 *
 * Nothing here is trusted to be fast: the sandbox bounds what a rule may ask per second, and the gateway may
 * answer late; a rule only waits.
 */
import type { DurationMs, EpochMs } from '../lib/time.ts';
import type { LogSeverity } from './device-log.ts';
import type { DryRunPeriod, DryRunReport, RecordedMethods } from './dry-run.ts';
import type { NotifyParameters } from './notification.ts';
import type { OutputParameters } from './output.ts';
import { exactJson, parseExactJson } from '../lib/json.ts';
import type { TracedRun } from './rule-trace.ts';
import type { JsonValue } from './telemetry.ts';

/** How the gateway starts the sandbox: fields of `ProgramOptions`. */
export const RULE_SANDBOX_PROGRAM = {
  /** Told in the hello of the child; another version is refused. */
  protocolVersion: 3,
  /**
   * Every Lua state has a memory of its own, for which 8 GiB of addresses would be reserved each; a small board
   * has 512 GiB in all. With the first option it is what the memory may grow to, for a fifth of the speed. The
   * second one keeps what passes through the main thread from filling 48 MiB before it is cleared. With the
   * third the sandbox gives memory of ended scripts back at once, not when V8 would come to it. The fourth one
   * makes V8 collect before its heaps have grown by half: 12 MiB less with 200 rules. Without the last one every state
   * keeps notes on which functions of Lua's own call which: 8 MiB.
   */
  nodeOptions: [
    '--disable-wasm-trap-handler',
    '--max-semi-space-size=2',
    '--expose-gc',
    '--optimize-for-size',
    '--no-wasm-inlining',
  ],
  /** Rules speak HTTP. */
  rights: { network: true, deviceFiles: [], systemPrograms: false },
} as const;

/** Facts that the sandbox gets at its start, and again when they change. */
export interface SandboxSite {
  /** IANA name. */
  timeZone: string;
  /** Degrees, north and east positive; absent: functions of the sun give an error. */
  location?: { latitude: number; longitude: number };
}

/** `ProgramOptions.settings` of the sandbox. */
export interface SandboxSettings {
  site: SandboxSite;
  /** Level of the sandbox's own service log, which goes to standard output. */
  log: { level: 'debug' | 'info' | 'warn' | 'error'; format: 'json' | 'journal' | 'text' };
}

export type RuleState = 'STARTED' | 'STOPPED';

export interface RuleScript {
  id: string;
  slug: string;
  runtimeVersion: 'V1' | 'V3';
  /** Lua text. */
  code: string;
  /** V1 only. */
  execIntervalMs: DurationMs;
  /** True when its runs are traced. */
  isTraced?: boolean;
}

/** Traced runs of one life of a script, the newest first. */
export interface RunsReport {
  /** Id of the `trace` or `run_now` that is answered; absent when the script has ended, and these are its last runs. */
  id?: number;
  runs: TracedRun[];
  /** Why nothing was run: it runs already, or has no function to run. */
  refusal?: 'running' | 'nothing';
}

export interface RuleLogEntry {
  timestampMs: EpochMs;
  severity: LogSeverity;
  /** At most LIMITS.rules.logMessageBytes as UTF-8. */
  message: string;
}

/** A device as scripts see it. */
export interface RuleDevice {
  id: string;
  slug: string;
  name: string;
  type: string;
}

/** Stores of a rule: its own, the one that all rules share, and the third one of runtime V1. */
export type RuleStore = 'rule' | 'shared' | 'public';

/**
 * Requests by method. Errors are texts as docs/interface/lua-rules.md#devices has them: `device "x" not found`,
 * `device not found` (deleted meanwhile), `unknown telemetry attribute "x"`, `device is offline`, `timeout`.
 */
export interface RuleMethods {
  /** By id, else by slug: RuleDevice. */
  find_device: { idOrSlug: string };
  /** All devices of the site, modules included, by id ascending: RuleDevice[]. */
  list_devices: Record<string, never>;
  /** Boolean. */
  device_online: { deviceId: string };
  /** Names of the profiles of the compiled blueprint, inherited ones included. */
  device_profiles: { deviceId: string };
  /** One property by name or alias; null: declared, but without a value. */
  property: { deviceId: string; name: string };
  /** All properties that have a value, by name. */
  properties: { deviceId: string };
  /** `{ value, timestampMs }`: the newest value not older than `relevanceMs`; an error when the device is offline or there is none. */
  latest: { deviceId: string; name: string; relevanceMs: DurationMs };
  /** A number, over stored values in the window that ends now; numeric attributes only; an error when there is none. */
  aggregate: { deviceId: string; name: string; kind: 'avg' | 'min' | 'max'; windowMs: DurationMs };
  /**
   * Waits for the final answer of the device, its results by name, `timeoutMs` at most. Device error: its message is the error. The
   * execution is recorded with the rule as its origin.
   */
  execute: {
    deviceId: string;
    name: string;
    arguments: Record<string, JsonValue>;
    timeoutMs: DurationMs;
    ephemeral: boolean;
  };
  /**
   * Asks for a command of an output (docs/interface/lua-rules.md#outputs): OutputAnswer. `arguments` null: only bounds. The
   * gateway judges the options.
   */
  output_request: OutputParameters;
  /** Withdraws it; null. */
  output_release: { deviceId: string; name: string; output: JsonValue };
  /** Sends it to people; null once it is stored, or an error: too many, or no channel takes it. */
  notify: NotifyParameters;
  /** `value`, and what is read, is JSON text; null: no such key. A write or removal is answered once it is on disk; over the store's limit: an error. */
  storage_read: { store: RuleStore; key: string };
  storage_write: { store: RuleStore; key: string; value: string };
  storage_remove: { store: RuleStore; key: string };
  /**
   * From now on `changed` comes with every sample of the attribute that is newer than the last one sent, or, for
   * `connectivity`, with each change. Under load samples may be left out, the newest never.
   */
  watch:
    | { deviceId: string; watchId: number; kind: 'telemetry'; name: string }
    | {
        deviceId: string;
        watchId: number;
        kind: 'connectivity';
      };
  unwatch: { watchId: number };
  /** An answer to each, in order: RuleAnswer[]. */
  several: { requests: readonly ReadRequest[] };
}

export type RuleMethod = keyof RuleMethods;

export type RuleRequest = {
  [Method in RuleMethod]: { method: Method; parameters: RuleMethods[Method] };
}[RuleMethod];

/** Requests that change nothing and are answered from memory. */
export type ReadRequest = Extract<
  RuleRequest,
  { method: 'find_device' | 'device_online' | 'device_profiles' | 'property' | 'latest' }
>;

/** Requests of a dry run: facts as for rules, and recorded values. */
export type RecordedRequest =
  | Extract<RuleRequest, { method: (typeof DRY_RUN_FACTS)[number] }>
  | {
      [Method in keyof RecordedMethods]: { method: Method; parameters: RecordedMethods[Method] };
    }[keyof RecordedMethods];

/** Methods of rules that a dry run passes on: they change nothing, and are answered as of now. */
export const DRY_RUN_FACTS = [
  'find_device',
  'list_devices',
  'device_profiles',
  'property',
  'properties',
  'storage_read',
] as const satisfies readonly RuleMethod[];

export type RuleAnswer = { ok: true; result: JsonValue } | { ok: false; error: string };

export type ToSandbox =
  /** Also for a rule that runs: it is started afresh with what is said now. */
  | { type: 'start'; rule: RuleScript; generation: number }
  | { type: 'stop'; ruleId: string }
  /** A new slug, or another wish to trace; the script goes on. */
  | { type: 'update'; ruleId: string; slug: string; isTraced: boolean }
  /** Each is answered by `runs`; a rule that does not run is started by the second. */
  | { type: 'trace' | 'run_now'; ruleId: string; id: number }
  /** V3 rules start again when the time zone is another one. */
  | { type: 'site'; site: SandboxSite }
  | ({ type: 'answer'; id: number } & RuleAnswer)
  | { type: 'changed'; run: number; watchId: number; value: JsonValue; timestampMs: EpochMs }
  | { type: 'dry_run'; dryRun: number; rule: RuleScript; period: DryRunPeriod }
  | { type: 'dry_run_end'; dryRun: number }
  | ({ type: 'dry_run_answer'; dryRun: number; id: number } & RuleAnswer);

export type FromSandbox =
  /** `restartsInMs`: it failed, and is started again after this pause. */
  | { type: 'state'; ruleId: string; generation: number; state: RuleState; restartsInMs?: DurationMs }
  | { type: 'log'; ruleId: string; generation: number; entries: RuleLogEntry[] }
  | ({ type: 'request'; id: number; ruleId: string; run: number } & RuleRequest)
  | { type: 'run_ended'; ruleId: string; run: number }
  | ({ type: 'runs'; ruleId: string } & RunsReport)
  | ({ type: 'dry_run_request'; dryRun: number; id: number } & RecordedRequest)
  | { type: 'dry_run_over'; dryRun: number; report: DryRunReport }
  /** Every minute, for metrics. */
  | { type: 'status'; rules: RuleUsage[]; threads: number; threadsEnded: number };

/** Messages to and from the sandbox as its main thread handles them: the content is still JSON text. */
export type SandboxOrder =
  | Exclude<ToSandbox, { type: 'answer' }>
  | { type: 'answer'; id: number; content: string };
export type SandboxReport =
  | Exclude<FromSandbox, { type: 'request' }>
  | { type: 'request'; id: number; ruleId: string; run: number; content: string };

export interface RuleUsage {
  ruleId: string;
  /** Memory of its Lua state. */
  memoryBytes: number;
  /** Processor time since the sandbox started. */
  processorMs: DurationMs;
}

export function encodeSandboxMessage(message: ToSandbox | FromSandbox | SandboxReport): string {
  if ('content' in message) {
    const { content, ...head } = message;
    return lines(head, content);
  }
  if (message.type === 'request') {
    const { method, parameters, ...head } = message;
    return lines(head, exactJson({ method, parameters }));
  }
  if (message.type === 'answer') {
    const { type, id, ...answer } = message;
    return lines({ type, id }, exactJson(answer));
  }
  return exactJson(message);
}

/** JSON text as it is written has no line break of its own. */
function lines(head: object, content: string): string {
  return `${exactJson(head)}\n${content}`;
}

/** The content of an answer. */
export function decodeAnswer(content: string): RuleAnswer {
  return parseExactJson(content) as RuleAnswer;
}

const TO_SANDBOX =
  'start stop update trace run_now site answer changed dry_run dry_run_end dry_run_answer'.split(' ');
const FROM_SANDBOX = 'state log request run_ended runs status dry_run_request dry_run_over'.split(' ');

/** Both ends are ours: only the kind of message is judged. @throws Error for anything else */
export function decodeToSandbox(payload: string | Uint8Array): SandboxOrder {
  const { head, content } = decode(payload, TO_SANDBOX);
  return (content === undefined ? head : { ...head, content }) as SandboxOrder;
}

export function decodeFromSandbox(payload: string | Uint8Array): FromSandbox {
  const { head, content } = decode(payload, FROM_SANDBOX);
  return (
    content === undefined ? head : { ...head, ...(parseExactJson(content) as RuleRequest) }
  ) as FromSandbox;
}

function decode(
  payload: string | Uint8Array,
  types: readonly string[],
): { head: object; content: string | undefined } {
  if (typeof payload !== 'string') throw new Error('a message of the rule sandbox is text');
  const end = payload.indexOf('\n');
  const head = parseExactJson(end < 0 ? payload : payload.slice(0, end)) as { type?: unknown } | null;
  if (typeof head?.type !== 'string' || !types.includes(head.type))
    throw new Error('a message of the rule sandbox is of no known type');
  return { head, content: end < 0 ? undefined : payload.slice(end + 1) };
}
