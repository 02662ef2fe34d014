/**
 * Carries out the calls of scripts on raw serial ports. A script that has written has the port to itself until it has
 * read the answer, so that no other script gets it; in a transaction, until that is over.
 */
import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import type { Limits } from '../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../lib/time.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import { characterMs, type SerialPort, type SerialSettings, type SerialTurn } from './field/index.ts';
import { fault } from './io-calls.ts';
import type { CallResult, SerialOperation } from './thread-messages.ts';

/** The run that asks, and until when it waits: a later result would be lost. */
export interface Asker {
  run: number;
  /** Neither is the script over nor the call given up. */
  isWaiting: () => boolean;
  /** Monotonic; infinite: as long as the script runs. */
  untilMs: MonotonicMs;
  /** Aborted when the script is over. */
  over: AbortSignal;
}

type RawOperation = Exclude<SerialOperation, { do: 'configure' | 'acquire' | 'release' }>;

/** Adapters hand over collected bytes at most this late, and devices pause between two parts of an answer. */
const PAUSE_MS = 100;
/** Pause of a device within an answer, in characters at the speed of its line. */
const PAUSE_CHARACTERS = 16;

interface SerialCallsOptions {
  clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  limits: Limits['field'];
}

export class SerialCalls {
  readonly #options: SerialCallsOptions;
  readonly #holdings = new Map<SerialPort, Holding>();
  /** Lines that scripts set up: the last running script's settings count; after the last one those of before. */
  readonly #lent = new Map<SerialPort, { before: SerialSettings; wishes: Map<number, SerialSettings> }>();

  constructor(options: SerialCallsOptions) {
    this.#options = options;
  }

  /** `task`: the call of the script that asks. @throws PortFault */
  async carryOut(asker: Asker, port: SerialPort, operation: SerialOperation, task = 0): Promise<CallResult> {
    const held = this.#holdings.get(port);
    const own = held?.run === asker.run && held.isOpen ? held : undefined;
    const transaction = own?.task === task ? own : undefined;
    switch (operation.do) {
      case 'configure':
        this.#lend(asker.run, port, operation.settings);
        return { kind: 'done' };
      case 'acquire':
        if (transaction) return fault('the port is held already', 3);
        own?.endQuestion(port.settings);
        return this.#hold(asker, port, task, () => Promise.resolve({ kind: 'done' }));
      case 'release':
        await transaction?.end();
        return { kind: 'done' };
      default: {
        const use = (turn: SerialTurn): Promise<CallResult> => operate(turn, operation, asker, this.#options);
        if (!isReading(operation)) own?.endQuestion(port.settings);
        if (own?.isOpen === true && (transaction || own.task === undefined))
          return own.carryOut(operation, use);
        return operation.do === 'write'
          ? this.#hold(asker, port, undefined, (question) => question.carryOut(operation, use))
          : port.inTurn(asker.run, use, { isWanted: asker.isWaiting });
      }
    }
  }

  /** The script is over: gives back what it holds. */
  release(run: number): void {
    for (const [port, { before, wishes }] of this.#lent) {
      if (!wishes.delete(run)) continue;
      port.configure([...wishes.values()].at(-1) ?? before);
      if (wishes.size === 0) this.#lent.delete(port);
    }
    for (const holding of this.#holdings.values()) if (holding.run === run) void holding.end();
  }

  #lend(run: number, port: SerialPort, settings: SerialSettings): void {
    const { wishes } = this.#lent.getOrInsert(port, { before: port.settings, wishes: new Map() });
    wishes.delete(run);
    wishes.set(run, settings);
    port.configure(settings);
  }

  /** Holds the port from its turn on; resolves with what is done first. */
  #hold(
    asker: Asker,
    port: SerialPort,
    task: number | undefined,
    first: (holding: Holding) => Promise<CallResult>,
  ): Promise<CallResult> {
    const { clock, limits } = this.#options;
    return new Promise((resolve, reject) => {
      const held = (turn: SerialTurn): Promise<void> =>
        new Promise((done) => {
          const holding = new Holding({
            clock,
            limits,
            turn,
            task,
            run: asker.run,
            untilMs: asker.untilMs,
            onEnd: () => {
              this.#holdings.delete(port);
              done();
            },
          });
          this.#holdings.set(port, holding);
          first(holding).then(resolve, reject);
        });
      port.inTurn(asker.run, held, { isWanted: asker.isWaiting }).catch(reject);
    });
  }
}

interface HoldingOptions extends SerialCallsOptions {
  turn: SerialTurn;
  run: number;
  task: number | undefined;
  untilMs: MonotonicMs;
  onEnd: () => void;
}

/** A port that one script has to itself, for a question or a transaction. What it does there happens one after another. */
class Holding {
  readonly run: number;
  /** Task of the transaction; undefined: a question, whose answer any task of the script may read. */
  readonly task: number | undefined;
  readonly #options: HoldingOptions;
  #limit: Timer | undefined;
  #isRead = false;
  /** Since the end was asked for. */
  #ended: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: HoldingOptions) {
    this.#options = options;
    this.run = options.run;
    this.task = options.task;
    // A call that is given up cannot end its transaction by itself.
    const restMs = options.untilMs - options.clock.monotonicMs();
    if (this.task !== undefined && Number.isFinite(restMs)) this.#endAfter(restMs);
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  carryOut(operation: RawOperation, use: (turn: SerialTurn) => Promise<CallResult>): Promise<CallResult> {
    this.#isRead ||= isReading(operation);
    const isQuestion = this.task === undefined;
    if (isQuestion) this.#limit?.cancel();
    const done = this.#last.then(() => use(this.#options.turn));
    this.#last = done.then(
      (result) => {
        if (!isQuestion || !this.isOpen) return;
        if (result.kind === 'fault') return void this.end();
        const { serialRestMs, serialThinkMs } = this.#options.limits;
        this.#endAfter(this.#isRead ? serialRestMs : serialThinkMs);
      },
      () => {
        if (isQuestion) void this.end();
      },
    );
    return done;
  }

  /** A write after the answer was read, or with other settings, is another question. */
  endQuestion(wanted: SerialSettings): void {
    if (this.task !== undefined) return;
    if (this.#isRead || !isDeepStrictEqual(wanted, this.#options.turn.settings)) void this.end();
  }

  /** Resolves when what is being done is done, and the port is free. */
  end(): Promise<void> {
    this.#limit?.cancel();
    // Half a message must not be followed by that of another.
    return (this.#ended ??= this.#last.then(() => this.#options.onEnd()));
  }

  #endAfter(durationMs: DurationMs): void {
    this.#limit?.cancel();
    this.#limit = this.#options.clock.setTimer(durationMs, () => void this.end());
  }
}

function isReading({ do: what }: RawOperation): boolean {
  return what === 'read' || what === 'receive';
}

/** Silence after which an answer of unknown length is over, at the speed of the line. */
function silenceMs({ settings }: SerialTurn): DurationMs {
  return PAUSE_MS + PAUSE_CHARACTERS * characterMs(settings);
}

/** Stops reading when the call is given up: bytes read later would be lost to others. */
async function operate(
  turn: SerialTurn,
  operation: RawOperation,
  { untilMs, over, isWaiting }: Asker,
  { clock, limits }: SerialCallsOptions,
): Promise<CallResult> {
  const endMs = Math.min(untilMs, clock.monotonicMs() + limits.requestMsMax);
  const within = (timeoutMs: DurationMs): DurationMs =>
    timeoutMs > 0 ? Math.max(0, Math.min(timeoutMs, endMs - clock.monotonicMs())) : 0;
  switch (operation.do) {
    case 'read': {
      const count = Math.min(operation.countMax, limits.serialBufferBytes);
      return { kind: 'bytes', bytes: await turn.read(count, within(operation.timeoutMs), over) };
    }
    case 'receive': {
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      for (let waitMs = operation.timeoutMs; ; waitMs = silenceMs(turn)) {
        const chunk = await turn.next(within(waitMs), over);
        if (chunk === undefined) break;
        chunks.push(chunk);
        sizeBytes += chunk.length;
        if (sizeBytes >= limits.serialBufferBytes || clock.monotonicMs() >= endMs) break;
      }
      return chunks.length === 0 ? fault('timeout', 1) : { kind: 'bytes', bytes: Buffer.concat(chunks) };
    }
    case 'write':
      if (operation.bytes.length > limits.serialWriteBytes)
        return fault(`at most ${limits.serialWriteBytes} bytes are written at once`, 3);
      await turn.settle(false);
      if (!isWaiting()) return fault('timeout', 1);
      await turn.write(Buffer.from(operation.bytes));
      return { kind: 'done' };
    case 'flush':
      await turn.settle(true);
      turn.flush();
      return { kind: 'done' };
  }
}
