/** Carries out the calls of scripts on serial lines, networks and ports, and ends them with their run. */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { ControlChannel } from './control-channel.ts';
import {
  characterMs,
  type FieldBus,
  noPort,
  scriptFaultOf,
  type SerialPort,
  type SerialSettings,
  type SerialTurn,
} from './field/index.ts';
import { fault, IoCalls, portResult } from './io-calls.ts';
import type { CallResult, SerialOperation, ThreadCall } from './thread-messages.ts';

/** A serial port that one script holds. */
interface Holding {
  turn: SerialTurn;
  release: () => void;
}

/** The run that asks, and until when it waits: nobody would see what is done later. */
interface Asker {
  run: number;
  /** Neither is the script over nor the call given up. */
  isWaiting: () => boolean;
  /** Monotonic; infinite: as long as the script runs. */
  untilMs: MonotonicMs;
}

/** Adapters hand over collected bytes at most this late, and devices pause between two parts of an answer. */
const PAUSE_MS = 100;
/** Pause of a device within an answer, in characters at the speed of its line. */
const PAUSE_CHARACTERS = 16;
/** Bytes that arrived while this process was busy are read after its timers: one more look finds them. */
const LOOK_AGAIN_MS = 1;

/** Silence after which an answer of unknown length is over, at the speed of the line. */
function silenceMs({ settings }: SerialTurn): DurationMs {
  return PAUSE_MS + PAUSE_CHARACTERS * characterMs(settings);
}

interface CallsOptions {
  bus: FieldBus;
  channel: Pick<ControlChannel, 'request'>;
  clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  limits: Limits['field'];
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #bus: FieldBus;
  /** By run and port. */
  readonly #holdings = new Map<string, Holding>();
  readonly #lives = new Map<number, { isOver: boolean }>();
  readonly #io: IoCalls;
  /** Lines that scripts set up: the last running script's settings count; after the last one those of before. */
  readonly #lent = new Map<SerialPort, { before: SerialSettings; wishes: Map<number, SerialSettings> }>();

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#bus = options.bus;
    this.#io = new IoCalls({ io: options.bus.io, limits: options.limits });
  }

  /** Never rejects. */
  async carryOut(run: number, call: ThreadCall): Promise<CallResult> {
    switch (call.kind) {
      case 'modbus':
        return this.#modbus(this.#askerOf(run, call), call);
      case 'serial':
        return portResult(() => this.#serial(this.#askerOf(run, call), call.port, call.operation));
      case 'can':
        return this.#io.can(run, call.port, call.operation);
      case 'io':
        return this.#io.io(call.port, call.operation, this.#askerOf(run, call).isWaiting);
      case 'request':
        return { kind: 'answer', answer: await this.#options.channel.request(call.request, call.timeoutMs) };
    }
  }

  /** The script is over: gives back what it holds. */
  release(run: number): void {
    this.#io.release(run);
    for (const [port, { before, wishes }] of this.#lent) {
      if (!wishes.delete(run)) continue;
      port.configure([...wishes.values()].at(-1) ?? before);
      if (wishes.size === 0) this.#lent.delete(port);
    }
    const life = this.#lives.get(run);
    if (life) life.isOver = true;
    this.#lives.delete(run);
    for (const [key, holding] of this.#holdings) if (key.startsWith(`${run} `)) holding.release();
  }

  #askerOf(run: number, { remainingMs = Number.POSITIVE_INFINITY }: ThreadCall): Asker {
    const { clock } = this.#options;
    const life = this.#lives.getOrInsert(run, { isOver: false });
    const untilMs = clock.monotonicMs() + remainingMs;
    return { run, untilMs, isWaiting: () => !life.isOver && clock.monotonicMs() < untilMs };
  }

  async #modbus({ untilMs, isWaiting }: Asker, call: ThreadCall & { kind: 'modbus' }): Promise<CallResult> {
    const client = this.#bus.modbus(call.uri);
    if (typeof client === 'string') return fault(client, 3);
    const { clock, limits } = this.#options;
    const timeoutMs = Math.min(call.timeoutMs ?? limits.requestMs, untilMs - clock.monotonicMs());
    const answer = await client.request(call.unitId, call.request, timeoutMs, isWaiting);
    if (answer.ok) return { kind: 'values', values: answer.values };
    return { kind: 'fault', fault: scriptFaultOf(answer.fault) };
  }

  async #serial(asker: Asker, name: string, operation: SerialOperation): Promise<CallResult> {
    const { run, untilMs, isWaiting } = asker;
    const { clock, limits } = this.#options;
    const port = this.#bus.serialPort(name);
    if (port === undefined) return fault(noPort(name), 5);
    const key = `${run} ${name}`;
    const holding = this.#holdings.get(key);
    switch (operation.do) {
      case 'configure':
        this.#lend(run, port, operation.settings);
        return { kind: 'done' };
      case 'acquire':
        return this.#acquire(asker, key, port);
      case 'release':
        holding?.release();
        return { kind: 'done' };
      default: {
        const use = (turn: SerialTurn): Promise<CallResult> =>
          operate(turn, operation, limits, untilMs - clock.monotonicMs());
        return holding ? use(holding.turn) : port.inTurn(use, isWaiting);
      }
    }
  }

  #lend(run: number, port: SerialPort, settings: SerialSettings): void {
    const { wishes } = this.#lent.getOrInsert(port, { before: port.settings, wishes: new Map() });
    wishes.delete(run);
    wishes.set(run, settings);
    port.configure(settings);
  }

  /** A call that is given up cannot release its port by itself, so the port is released then. */
  #acquire({ isWaiting, untilMs }: Asker, key: string, port: SerialPort): Promise<CallResult> {
    if (this.#holdings.has(key)) return Promise.resolve(fault('the port is held already', 3));
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const hold = (turn: SerialTurn): Promise<void> =>
        new Promise<void>((done) => {
          const release = (): void => {
            end?.cancel();
            this.#holdings.delete(key);
            done();
          };
          const restMs = untilMs - clock.monotonicMs();
          const end = Number.isFinite(restMs) ? clock.setTimer(restMs, release) : undefined;
          this.#holdings.set(key, { turn, release });
          resolve({ kind: 'done' });
        });
      port.inTurn(hold, isWaiting).catch(reject);
    });
  }
}

type RawOperation = Exclude<SerialOperation, { do: 'configure' | 'acquire' | 'release' }>;

/** `restMs`: after it the call is given up, and bytes that it reads later would be lost to others. */
async function operate(
  turn: SerialTurn,
  operation: RawOperation,
  limits: Limits['field'],
  restMs: DurationMs,
): Promise<CallResult> {
  const within = (timeoutMs: DurationMs): DurationMs =>
    timeoutMs > 0 ? Math.max(0, Math.min(timeoutMs, limits.requestMsMax, restMs)) : 0;
  switch (operation.do) {
    case 'read': {
      const count = Math.min(operation.countMax, limits.serialBufferBytes);
      return { kind: 'bytes', bytes: await turn.read(count, within(operation.timeoutMs)) };
    }
    case 'receive': {
      const chunks: Buffer[] = [];
      let waitMs = within(operation.timeoutMs);
      for (let sizeBytes = 0; sizeBytes < limits.serialBufferBytes; waitMs = silenceMs(turn)) {
        const chunk = (await turn.next(waitMs)) ?? (await turn.next(LOOK_AGAIN_MS));
        if (chunk === undefined) break;
        chunks.push(chunk);
        sizeBytes += chunk.length;
      }
      return chunks.length === 0 ? fault('timeout', 1) : { kind: 'bytes', bytes: Buffer.concat(chunks) };
    }
    case 'write':
      if (operation.bytes.length > limits.serialWriteBytes)
        return fault(`at most ${limits.serialWriteBytes} bytes are written at once`, 3);
      await turn.write(Buffer.from(operation.bytes));
      return { kind: 'done' };
    case 'flush':
      turn.flush();
      return { kind: 'done' };
  }
}
