/** One run of a child program, from its start to its end. */
import { type ChildProcess, fork } from 'node:child_process';
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../clock/index.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { type Payload, readMessage, type ToChild, type ToParent } from './wire.ts';

/** Why and after how long a run ended. */
export interface Exit {
  /** A few words: `exit code 3`, `signal SIGSEGV`, `heartbeat missed`. */
  reason: string;
  /** Since its hello; 0 when it never got so far. */
  ranMs: number;
  /** The end of what it wrote to standard error. */
  errorOutput: string;
}

export interface Life {
  readonly outbox: Outbox;
  readonly processId: number | undefined;
  /** SIGTERM, and SIGKILL when it is still there after the limit. Resolves at its end. */
  stop(): Promise<void>;
  readonly ended: Promise<Exit>;
}

export interface LifeOptions {
  entry: string;
  protocolVersion: number;
  nodeOptions: readonly string[];
  settings: unknown;
  clock: Clock;
  limits: Limits['processes'];
  /** The child is there and speaks our version. */
  onHello: () => void;
  onPayload: (payload: Payload) => void;
  onDropped: () => void;
}

const ERROR_OUTPUT_BYTES = 4_096;

export function startLife(options: LifeOptions): Life {
  const { clock, limits } = options;
  // No environment: a child knows what its settings say. The variable is for the C library, whose arenas keep the
  // memory of threads that ended: with one for all, a sandbox is as large after hostile rules as before.
  const child = fork(options.entry, [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: { MALLOC_ARENA_MAX: '1' },
    execArgv: [...options.nodeOptions],
  });
  const { promise: ended, resolve } = Promise.withResolvers<Exit>();
  const errorOutput = tailOf(child);
  let helloAtMs: number | undefined;
  /** Set when we ended it. */
  let verdict: string | undefined;

  const post = (message: ToChild, done: () => void = () => undefined): void => {
    if (child.connected) child.send(message, () => done());
    else done();
  };
  const outbox = createOutbox({ post, limits, onDropped: options.onDropped });
  const heartbeat = createHeartbeat(options, post, () => end('heartbeat missed'));
  const helloTimer = clock.setTimer(limits.helloMs, () => end('no hello'));
  let killTimer: Timer | undefined;

  function end(reason: string): void {
    verdict ??= reason;
    // What does not answer does not handle SIGTERM either.
    child.kill('SIGKILL');
  }

  function finish(reason: string): void {
    helloTimer.cancel();
    killTimer?.cancel();
    heartbeat.stop();
    outbox.close();
    const ranMs = helloAtMs === undefined ? 0 : clock.monotonicMs() - helloAtMs;
    resolve({ reason: verdict ?? reason, ranMs, errorOutput: errorOutput() });
  }

  function receive(raw: unknown): void {
    const message = readMessage<ToParent>(raw, ['hello', 'pong', 'data']);
    const isSecondHello = message?.kind === 'hello' && helloAtMs !== undefined;
    if (message === undefined || isSecondHello) end('sent something that is no message');
    else if (message.kind === 'hello') {
      if (message.version !== options.protocolVersion) {
        end(`speaks protocol version ${message.version}, not ${options.protocolVersion}`);
        return;
      }
      helloTimer.cancel();
      helloAtMs = clock.monotonicMs();
      heartbeat.start();
      options.onHello();
    } else if (helloAtMs === undefined) end('sent data before its hello');
    else if (message.kind === 'pong') heartbeat.answered(message.id);
    else options.onPayload(message.payload);
  }

  child.on('message', receive);
  child.on('error', (error) => finish(`cannot be started: ${messageOf(error)}`));
  child.on('close', (code, signal) => finish(signal === null ? `exit code ${code}` : `signal ${signal}`));
  post({ kind: 'settings', version: options.protocolVersion, settings: options.settings });

  return {
    outbox,
    processId: child.pid,
    ended,
    stop: async () => {
      verdict ??= 'stopped';
      child.kill('SIGTERM');
      killTimer = clock.setTimer(limits.stopMs, () => {
        verdict = `killed, because it did not stop within ${limits.stopMs} ms`;
        child.kill('SIGKILL');
      });
      await ended;
    },
  };
}

/** Asks at intervals; too many questions without an answer are a miss. */
function createHeartbeat(
  options: LifeOptions,
  post: (message: ToChild) => void,
  onMissed: () => void,
): { start(): void; stop(): void; answered(id: number): void } {
  const { clock, limits } = options;
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
    answered: (id) => (answered = Math.max(answered, Math.min(id, asked))),
  };
}

function tailOf(child: ChildProcess): () => string {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-ERROR_OUTPUT_BYTES);
  });
  return () => tail.trim();
}
