/** One run of a child program, from its start to its end. */
import type { ChildProcess } from 'node:child_process';
import { messageOf } from '../../lib/errors.ts';
import { OneByOne } from '../../lib/batcher.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import { killGroup, launch, type LaunchOptions, type ProgramRights } from './launch.ts';
import { createOutbox, type Outbox, type Payload, readMessage, type ToChild, type ToParent } from './wire.ts';

/** Why and after how long a run ended. */
export interface Exit {
  /** A few words: `exit code 3`, `signal SIGSEGV`, `heartbeat missed`. */
  reason: string;
  /** We stopped it. */
  wasAsked: boolean;
  /** Since its hello; 0 when it never got so far. */
  ranMs: DurationMs;
  /** The end of what it wrote to standard error. */
  errorOutput: string;
}

interface RunOptions extends Omit<LaunchOptions, 'rights'> {
  protocolVersion: number;
  /** Rights of this run; a fault while they are read keeps the program from being started, as with its settings. */
  rights: () => ProgramRights;
  settings: () => unknown;
  clock: Clock;
  limits: Limits['processes'];
  /** Called when the child is running with our protocol version. */
  onHello: () => void;
  onPayload: (payload: Payload) => void;
  onDropped: () => void;
}

const ERROR_OUTPUT_BYTES = 4_096;

export class ProgramRun {
  readonly outbox: Outbox;
  /** Resolves when the process is gone, with everything that it has started. */
  readonly ended: Promise<Exit>;
  readonly #options: RunOptions;
  readonly #child: ChildProcess | undefined;
  readonly #heartbeat: ReturnType<typeof createHeartbeat>;
  readonly #payloads: OneByOne<Payload>;
  readonly #finish: (exit: Exit) => void;
  readonly #timers = new Set<Timer>();
  #helloTimer: Timer | undefined;
  #helloAtMs: MonotonicMs | undefined;
  #errorOutput = '';
  #isStopping = false;
  /** Set when we ended it. */
  #verdict: string | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#payloads = new OneByOne(options.onPayload);
    ({ promise: this.ended, resolve: this.#finish } = Promise.withResolvers<Exit>());
    this.outbox = createOutbox({
      post: (message, done) => this.#post(message, done),
      limits: options.limits,
      onDropped: options.onDropped,
    });
    this.#heartbeat = createHeartbeat(
      options,
      (message) => {
        // The answer shows that all messages sent before have arrived.
        this.outbox.flush();
        this.#post(message);
      },
      () => this.#end('heartbeat missed'),
    );
    let settings: unknown;
    try {
      settings = options.settings();
      this.#child = launch({ ...options, rights: options.rights() });
    } catch (error) {
      this.#ended(`cannot be started: ${messageOf(error)}`);
      return;
    }
    this.#helloTimer = this.#setTimer(options.limits.helloMs, () => this.#end('no hello'));
    this.#listen(this.#child);
    this.#post({ kind: 'settings', version: options.protocolVersion, settings });
  }

  get processId(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Asks it to end, then tells it with SIGTERM, then ends it with everything that it has started. Resolves when it
   * is gone, whatever it does: within `stopMs + termMs + reapMs`.
   */
  async stop(): Promise<void> {
    const { stopMs, termMs } = this.#options.limits;
    if (!this.#isStopping) {
      this.#isStopping = true;
      this.#verdict ??= 'stopped';
      this.outbox.flush();
      this.#post({ kind: 'stop' });
      this.#setTimer(stopMs, () => {
        this.#child?.kill('SIGTERM');
        this.#setTimer(termMs, () => {
          this.#verdict = undefined;
          this.#end(`killed, because it did not stop within ${stopMs + termMs} ms`);
        });
      });
    }
    await this.ended;
  }

  #listen(child: ChildProcess): void {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#note(text));
    child.stderr?.on('error', (error) => this.#note(messageOf(error)));
    child.on('message', (raw) => this.#receive(raw));
    child.on('error', (error) => {
      if (child.pid === undefined) this.#ended(`cannot be started: ${messageOf(error)}`);
      else this.#end(`channel failed: ${messageOf(error)}`);
    });
    child.on('exit', (code, signal) => {
      const reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
      this.#killGroup();
      // The end of its error output is still to come, unless somebody else holds the pipe.
      child.on('close', () => this.#ended(reason));
      this.#setTimer(this.#options.limits.reapMs, () => this.#ended(reason));
    });
  }

  #receive(raw: unknown): void {
    const { protocolVersion, onHello, clock } = this.#options;
    const message = readMessage<ToParent>(raw, ['hello', 'pong', 'data']);
    const isSecondHello = message?.kind === 'hello' && this.#helloAtMs !== undefined;
    if (message === undefined || isSecondHello) this.#end('sent something that is no message');
    else if (message.kind === 'hello') {
      if (message.version !== protocolVersion) {
        this.#end(`speaks protocol version ${message.version}, not ${protocolVersion}`);
        return;
      }
      this.#helloTimer?.cancel();
      this.#helloAtMs = clock.monotonicMs();
      this.#heartbeat.start();
      onHello();
    } else if (this.#helloAtMs === undefined) this.#end('sent data before its hello');
    else if (message.kind === 'pong') this.#heartbeat.answered(message.id);
    else this.#payloads.add(message.payloads);
  }

  #post(message: ToChild, done: () => void = () => undefined): void {
    if (this.#child?.connected) this.#child.send(message, () => done());
    else done();
  }

  /** A program that does not answer does not handle SIGTERM either. */
  #end(reason: string): void {
    this.#verdict ??= reason;
    if (!this.#killGroup()) return;
    // One that waits for a broken disk or adapter cannot be ended by anybody: it goes when that wait is over.
    this.#setTimer(this.#options.limits.reapMs, () => this.#ended(reason));
  }

  #killGroup(): boolean {
    return this.processId !== undefined && killGroup(this.processId);
  }

  #ended(reason: string): void {
    for (const timer of this.#timers) timer.cancel();
    this.#heartbeat.stop();
    this.outbox.close();
    const { clock } = this.#options;
    this.#finish({
      reason: this.#verdict ?? reason,
      wasAsked: this.#isStopping,
      ranMs: this.#helloAtMs === undefined ? 0 : clock.monotonicMs() - this.#helloAtMs,
      errorOutput: this.#errorOutput.trim(),
    });
  }

  #note(text: string): void {
    this.#errorOutput = (this.#errorOutput + text).slice(-ERROR_OUTPUT_BYTES);
  }

  #setTimer(durationMs: DurationMs, fn: () => void): Timer {
    const timer = this.#options.clock.setTimer(durationMs, fn);
    this.#timers.add(timer);
    return timer;
  }
}

/** Asks at intervals; too many questions without an answer are a miss. */
function createHeartbeat(
  { clock, limits }: Pick<RunOptions, 'clock' | 'limits'>,
  post: (message: ToChild) => void,
  onMissed: () => void,
) {
  let timer: Timer | undefined;
  let asked = 0;
  let answered = 0;
  return {
    start: () => {
      timer = clock.setRepeating(limits.heartbeatIntervalMs, () => {
        if (asked - answered >= limits.missedHeartbeats) onMissed();
        else post({ kind: 'ping', id: ++asked });
      });
    },
    stop: () => timer?.cancel(),
    answered: (id: number) => {
      answered = Math.max(answered, Math.min(id, asked));
    },
  };
}
