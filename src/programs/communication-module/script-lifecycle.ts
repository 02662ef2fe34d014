/**
 * One assigned device: its script is started when content and configuration are there, started again after a
 * failure with growing pauses, and replaced when the gateway assigns another one.
 *
 *   waiting ─all is there─▶ starting ─entry ended well─▶ running
 *                │              └──────failed──────┐        │ memory ended, broken, or its thread
 *                │                                 ▼        ▼
 *                └──────────pause over────────── failed (a syntax error stays)
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import { cutToBytes } from '../../lib/text.ts';
import { type Assignment, decodeFacts, type FromModule, type ScriptState } from '../../protocol/module.ts';
import { canonicalValues } from './configuration-values.ts';
import type { ContentLibrary } from './content-library.ts';
import type { ConfigurationGroups, DeviceLogEntry, FailureReason, ScriptEvent } from './thread-messages.ts';
import type { DeviceScripts, ScriptEvents } from './device-scripts.ts';

export interface ScriptLifecycleOptions {
  assignment: Assignment;
  clock: Clock;
  limits: Limits['module'];
  library: Pick<ContentLibrary, 'get'>;
  scripts: Pick<DeviceScripts, 'start'>;
  onStatus: (status: FromModule & { type: 'status' }) => void;
  onPublish: (subject: 'telemetry' | 'properties', text: string) => void;
  onLog: (entry: DeviceLogEntry) => void;
  onResponse: (text: string) => void;
  onVerdict: (id: string, refusal: string | undefined) => void;
  onValues: (id: string, values: Record<string, unknown> | undefined) => void;
}

export interface ScriptLifecycle {
  readonly assignment: Assignment;
  readonly state: ScriptState | 'waiting';
  /** Another assignment for the same channel. */
  assign(assignment: Assignment): void;
  configure(groups: ConfigurationGroups, written: readonly string[]): void;
  /** Something that may have been missing is there. */
  tryStart(): void;
  restart(): void;
  /** Executions that nobody can carry out are answered at once. */
  command(id: string, name: string, argumentsText: string): void;
  check(id: string, group: string, values: Record<string, unknown>): void;
  /** Asks the script for the values of a group. */
  read(id: string, group: string): void;
  /** Says its status again. */
  report(): void;
  stop(): void;
}

export function createScriptLifecycle(options: ScriptLifecycleOptions): ScriptLifecycle {
  const { clock, limits, library, scripts } = options;
  let assignment = options.assignment;
  let state: ScriptLifecycle['state'] = 'waiting';
  let reason: string | undefined;
  let groups: ConfigurationGroups | undefined;
  /** Groups that this run of the script reads from the device. */
  let reads: readonly string[] = [];
  let run: ReturnType<DeviceScripts['start']> | undefined;
  let retry: Timer | undefined;
  const pause = new DoublingPause({ firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs });
  let startedAtMs = 0;
  /** It was stuck once and took its thread along: from then on it has one for itself. */
  let isAlone = false;

  function enter(next: ScriptState, why?: string): void {
    state = next;
    reason = why === undefined ? undefined : cutToBytes(why, limits.reasonBytes);
    report();
  }

  function report(): void {
    if (state === 'waiting') return;
    options.onStatus({
      type: 'status',
      channel_id: assignment.channel_id,
      state,
      script: assignment.script.hash,
      ...(reason === undefined ? {} : { reason }),
      ...(reads.length === 0 ? {} : { reads: [...reads] }),
    });
  }

  function leave(): void {
    retry?.cancel();
    retry = undefined;
    run?.stop();
    run = undefined;
  }

  function tryStart(): void {
    if (run !== undefined || retry !== undefined || state === 'failed' || groups === undefined) return;
    const script = library.get(assignment.script.hash);
    const factsBytes = library.get(assignment.facts.hash);
    if (script === undefined || factsBytes === undefined) return;
    const facts = decodeFacts(factsBytes);
    if (facts === undefined) return fail('error', 'the facts about the blueprint cannot be read');
    startedAtMs = clock.monotonicMs();
    reads = [];
    run = scripts.start({ channelId: assignment.channel_id, script, facts, groups }, events, isAlone);
    enter('starting');
  }

  function fail(kind: FailureReason | 'neighbour', message: string): void {
    run = undefined;
    if (kind === 'neighbour') {
      options.onLog({ message: `restarted: ${message}`, severity: 'warning', persist: false });
      state = 'waiting';
      return tryStart();
    }
    options.onLog({ message, severity: 'error', persist: true });
    enter('failed', message);
    // The same text would fail the same way.
    if (kind === 'syntax') return;
    // Only a script that worked for a while gets short pauses again.
    if (clock.monotonicMs() - startedAtMs >= limits.retryMaxMs) pause.reset();
    retry = clock.setTimer(pause.next(), () => {
      retry = undefined;
      state = 'waiting';
      tryStart();
    });
  }

  const events: ScriptEvents = {
    onEvent: (message: ScriptEvent) => {
      switch (message.kind) {
        case 'running':
          return enter('running');
        case 'failed':
          return fail(message.reason, message.message);
        case 'publish':
          return options.onPublish(message.subject, message.text);
        case 'log':
          return options.onLog(message);
        case 'response':
          return options.onResponse(message.text);
        case 'verdict':
          return options.onVerdict(message.id, message.refusal);
        case 'reads':
          reads = message.groups;
          return state === 'running' ? report() : undefined;
        case 'values':
          return options.onValues(message.id, message.values);
      }
    },
    onThreadLost: (isCulprit, message) => {
      isAlone ||= isCulprit;
      fail(isCulprit ? 'time' : 'neighbour', message);
    },
  };

  function begin(): void {
    leave();
    state = 'waiting';
    pause.reset();
    tryStart();
  }

  return {
    get assignment() {
      return assignment;
    },
    get state() {
      return state;
    },
    assign: (next) => {
      const isSame = next.script.hash === assignment.script.hash && next.facts.hash === assignment.facts.hash;
      assignment = next;
      if (isSame) return;
      isAlone = false;
      begin();
    },
    configure: (next, written) => {
      const previous = groups;
      groups = next;
      if (run === undefined) return tryStart();
      const changed = changedGroups(previous ?? {}, next, written);
      if (changed.length > 0) run.tell({ kind: 'configuration', groups: next, changed });
    },
    tryStart,
    restart: begin,
    command: (id, name, argumentsText) => {
      if (run !== undefined) return run.tell({ kind: 'command', id, name, argumentsText });
      const payload = { message: 'script is not running' };
      options.onResponse(JSON.stringify({ id, state: 'error', payload }));
    },
    check: (id, group, values) => {
      // Nobody is there to refuse: the values go through.
      if (run === undefined || state !== 'running') return options.onVerdict(id, undefined);
      run.tell({ kind: 'check', id, group, values });
    },
    read: (id, group) => {
      if (run === undefined || state !== 'running') return options.onValues(id, undefined);
      run.tell({ kind: 'read', id, group });
    },
    report,
    stop: () => {
      leave();
      if (state !== 'waiting') enter('stopped');
    },
  };
}

/** Groups that were written or have other values, as far as they exist now. */
function changedGroups(
  previous: ConfigurationGroups,
  next: ConfigurationGroups,
  written: readonly string[],
): string[] {
  return Object.keys(next).filter(
    (name) => written.includes(name) || canonicalValues(previous[name]) !== canonicalValues(next[name]),
  );
}
