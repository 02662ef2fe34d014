/**
 * One assigned device: its script is started when content and configuration are there, started again after a
 * failure with growing pauses, and replaced when the gateway assigns another one.
 *
 *   waiting ─all is there─▶ starting ─entry ended well─▶ running
 *                │              └──────failed──────┐        │ memory ended, broken, or its thread
 *                │                                 ▼        ▼
 *                └──────────pause over────────── failed (a syntax error stays)
 */
import { DoublingPause } from '../lib/doubling-pause.ts';
import type { Limits } from '../lib/limits.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import { cutToBytes } from '../lib/text.ts';
import type { MonotonicMs } from '../lib/time.ts';
import { type Assignment, decodeFacts, type FromModule, type ScriptState } from '../protocol/module.ts';
import {
  canonicalValues,
  type ConfigurationGroups,
  type DeviceLogEntry,
  type FailureReason,
  type GivenCommand,
  noAnswer,
  type Question,
} from './thread-messages.ts';
import type { Log } from '../platform/log/index.ts';
import type { ContentLibrary } from './content-library.ts';
import type { Publisher } from './publisher.ts';
import type { DeviceScripts, ScriptEvents } from './device-scripts.ts';

interface ScriptLifecycleOptions {
  assignment: Assignment;
  clock: Clock;
  limits: Limits['module'];
  library: Pick<ContentLibrary, 'get'>;
  scripts: Pick<DeviceScripts, 'start'>;
  log: Log;
  /** To the gateway: the status of the script, and its answers. */
  send: (message: FromModule) => void;
  publisher: Pick<Publisher, 'publish' | 'log' | 'respond'>;
}

type Run = ReturnType<DeviceScripts['start']>;

export class ScriptLifecycle {
  readonly #options: ScriptLifecycleOptions;
  #assignment: Assignment;
  #state: ScriptState | 'waiting' = 'waiting';
  #reason: string | undefined;
  #groups: ConfigurationGroups | undefined;
  /** Groups that this run of the script reads from its device. */
  #reads: readonly string[] = [];
  #run: Run | undefined;
  /** Commands of this run without their last response. */
  readonly #commands = new Set<string>();
  #retry: Timer | undefined;
  readonly #pause: DoublingPause;
  #startedAtMs: MonotonicMs = 0;
  /** It was stuck once and took its thread down: from then on it has a thread of its own. */
  #isAlone = false;

  constructor(options: ScriptLifecycleOptions) {
    const { retryFirstMs: firstMs, retryMaxMs: maxMs } = options.limits;
    this.#options = options;
    this.#assignment = options.assignment;
    this.#pause = new DoublingPause({ firstMs, maxMs });
  }

  get assignment(): Assignment {
    return this.#assignment;
  }

  get state(): ScriptState | 'waiting' {
    return this.#state;
  }

  /** Another assignment for the same channel. Its configuration follows when it is of another script. */
  assign(next: Assignment): void {
    const isSame = isSameWork(this.#assignment, next);
    this.#assignment = next;
    if (isSame) return;
    this.#isAlone = false;
    // The configuration of another blueprint may lack parameters of this one, or give them another meaning.
    this.#groups = undefined;
    this.restart();
  }

  configure(next: ConfigurationGroups, written: readonly string[]): void {
    const previous = this.#groups;
    this.#groups = next;
    const changed = changedGroups(previous ?? {}, next, written);
    if (this.#run !== undefined) {
      if (changed.length > 0) this.#run.tell({ kind: 'configuration', groups: next, changed });
    } else if (this.#retry !== undefined && changed.length > 0) {
      // The script may have failed for want of what was just set.
      this.restart();
    } else this.tryStart();
  }

  /** Starts the script if everything that it needs is there. */
  tryStart(): void {
    const { clock, library, scripts } = this.#options;
    const groups = this.#groups;
    const isBusy = this.#run !== undefined || this.#retry !== undefined || this.#state === 'failed';
    if (isBusy || groups === undefined) return;
    const { channel_id: channelId, script: scriptContent, facts: factsContent } = this.#assignment;
    const script = library.get(scriptContent.hash);
    const factsBytes = library.get(factsContent.hash);
    if (script === undefined || factsBytes === undefined) return;
    const facts = decodeFacts(factsBytes);
    if (facts === undefined) return this.#fail('error', 'the facts about the blueprint cannot be read');
    this.#startedAtMs = clock.monotonicMs();
    this.#reads = [];
    const events: ScriptEvents = {
      onEvent: (event) => this.#hear(event),
      onThreadLost: (because, message) => {
        this.#isAlone ||= because === 'itself';
        this.#fail(because === 'neighbour' ? 'neighbour' : 'time', message);
      },
    };
    this.#run = scripts.start({ channelId, script, facts, groups }, events, this.#isAlone);
    this.#enter('starting');
  }

  /** `assignmentCount`: of the assignment that asks for it; the same count in `assignments` starts no second time. */
  restart(assignmentCount?: number): void {
    if (assignmentCount !== undefined)
      this.#assignment = { ...this.#assignment, assignment_count: assignmentCount };
    this.#leave();
    this.#state = 'waiting';
    this.#pause.reset();
    this.tryStart();
  }

  /** Executions that cannot be carried out are answered at once. */
  command(given: GivenCommand): void {
    const { id } = given;
    if (this.#run === undefined) return this.#refuse(id, 'script is not running');
    this.#commands.add(id);
    this.#run.tell({ kind: 'command', ...given });
  }

  /** Asks the script about its configuration. */
  ask(question: Question): void {
    if (this.#run === undefined || this.#state !== 'running') return this.#options.send(noAnswer(question));
    this.#run.tell({ kind: 'question', question });
  }

  /** Reports its status again. */
  report(): void {
    if (this.#state === 'waiting') return;
    const { log, send } = this.#options;
    log.debug('script', { channel_id: this.#channelId, state: this.#state });
    send({
      type: 'status',
      channel_id: this.#channelId,
      state: this.#state,
      script: this.#assignment.script.hash,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      ...(this.#reads.length === 0 ? {} : { reads: [...this.#reads] }),
    });
  }

  stop(): void {
    this.#leave();
    if (this.#state !== 'waiting') this.#enter('stopped');
  }

  #enter(next: ScriptState, why?: string): void {
    this.#state = next;
    this.#reason = why === undefined ? undefined : cutToBytes(why, this.#options.limits.reasonBytes);
    this.report();
  }

  #leave(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#run?.stop();
    this.#giveUpRun();
  }

  /** Forgets the run and answers the commands that it leaves behind. */
  #giveUpRun(): void {
    this.#run = undefined;
    for (const id of this.#commands) this.#refuse(id, 'the script ended before the command did');
    this.#commands.clear();
  }

  #refuse(id: string, message: string): void {
    this.#respond(JSON.stringify({ id, state: 'error', payload: { message } }));
  }

  #respond(text: string): void {
    this.#options.publisher.respond(this.#channelId, text);
  }

  #log(entry: DeviceLogEntry): void {
    this.#options.publisher.log(this.#channelId, entry);
  }

  get #channelId(): string {
    return this.#assignment.channel_id;
  }

  #fail(kind: FailureReason | 'neighbour', message: string): void {
    const { clock, limits } = this.#options;
    this.#giveUpRun();
    if (kind === 'neighbour') {
      this.#log({ message: `restarted: ${message}`, severity: 'warning', persist: false });
      this.#state = 'waiting';
      return this.tryStart();
    }
    this.#log({ message, severity: 'error', persist: true });
    this.#enter('failed', message);
    // The same source would fail the same way.
    if (kind === 'syntax') return;
    // Only a script that worked for a while gets short pauses again.
    if (clock.monotonicMs() - this.#startedAtMs >= limits.retryMaxMs) this.#pause.reset();
    this.#retry = clock.setTimer(this.#pause.next(), () => {
      this.#retry = undefined;
      this.#state = 'waiting';
      this.tryStart();
    });
  }

  #hear(event: Parameters<ScriptEvents['onEvent']>[0]): void {
    switch (event.kind) {
      case 'running':
        return this.#enter('running');
      case 'failed':
        return this.#fail(event.reason, event.message);
      case 'publish':
        return this.#options.publisher.publish(this.#channelId, event.subject, event.text);
      case 'log':
        return this.#log(event);
      case 'response':
        if (event.isLast) this.#commands.delete(event.id);
        return this.#respond(event.text);
      case 'reads':
        this.#reads = event.groups;
        return this.#state === 'running' ? this.report() : undefined;
      case 'answer':
        return this.#options.send(event.answer);
    }
  }
}

/** An older gateway names neither blueprint nor number, so a missing one is no difference. */
function isSameWork(a: Assignment, b: Assignment): boolean {
  const isSame = (name: 'blueprint_id' | 'assignment_count'): boolean =>
    a[name] === undefined || b[name] === undefined || a[name] === b[name];
  return (
    isSame('blueprint_id') &&
    isSame('assignment_count') &&
    a.script.hash === b.script.hash &&
    a.facts.hash === b.facts.hash
  );
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
