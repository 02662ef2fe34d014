/** Carries out what scripts ask of the wires, and forgets it when their run is over. */
import type { Limits } from '../../lib/limits.ts';
import type { ControlChannel } from './control-channel.ts';
import {
  characterMs,
  faultNumber,
  faultText,
  type FieldBus,
  SerialFault,
  type SerialPort,
  type SerialSettings,
  type SerialTurn,
} from './field/index.ts';
import type { CallFault, CallResult, SerialOperation, ThreadCall } from './thread-messages.ts';

export interface Calls {
  /** Never rejects. */
  carryOut(run: number, call: ThreadCall): Promise<CallResult>;
  /** The script is over: what it holds is given back. */
  release(run: number): void;
}

/** A serial port that a script has to itself. */
interface Holding {
  turn: SerialTurn;
  release: () => void;
}

/** An adapter hands over what it collected at most so late, and a device thinks between two parts of its answer. */
const PAUSE_MS = 100;
/** Characters that a device may be late with. */
const PAUSE_CHARACTERS = 16;
/** What arrived while this process was busy is read after its timers: one more look finds it. */
const LOOK_AGAIN_MS = 1;

/** Silence after which an answer of unknown length is over, at the speed of the line. */
function silenceMs({ settings }: SerialTurn): number {
  return PAUSE_MS + PAUSE_CHARACTERS * characterMs(settings);
}

export function createCalls(options: {
  bus: FieldBus;
  channel: Pick<ControlChannel, 'request'>;
  limits: Limits['field'];
}): Calls {
  const { bus, channel, limits } = options;
  /** By run and port. */
  const holdings = new Map<string, Holding>();
  const waitingRuns = new Set<number>();

  /** Ports whose line a script set up: it ends as it was with that script. */
  const lent = new Map<string, { run: number; before: SerialSettings }>();

  async function modbus(call: ThreadCall & { kind: 'modbus' }): Promise<CallResult> {
    const client = bus.modbus(call.uri);
    if (typeof client === 'string') return fault(client, 3);
    const answer = await client.request(call.unitId, call.request, call.timeoutMs);
    if (answer.ok) return { kind: 'values', values: answer.values };
    return fault(faultText(answer.fault), faultNumber(answer.fault));
  }

  async function serial(run: number, name: string, operation: SerialOperation): Promise<CallResult> {
    const port = bus.serialPort(name);
    if (port === undefined) return fault(`hardware port "${name}" is not available on this module`, 5);
    const key = `${run} ${name}`;
    const holding = holdings.get(key);
    try {
      switch (operation.do) {
        case 'configure':
          lent.set(name, { run, before: lent.get(name)?.before ?? port.settings });
          port.configure(operation.settings);
          return { kind: 'done' };
        case 'acquire':
          return await acquire(run, key, port);
        case 'release':
          holding?.release();
          return { kind: 'done' };
        default:
          if (holding) return await operate(holding.turn, operation, limits);
          return await port.inTurn((turn) => operate(turn, operation, limits));
      }
    } catch (error) {
      if (!(error instanceof SerialFault)) throw error;
      return fault(
        error.kind === 'timeout' ? 'timeout' : `connection failed: ${error.message}`,
        error.kind === 'timeout' ? 1 : 2,
      );
    }
  }

  function acquire(run: number, key: string, port: SerialPort): Promise<CallResult> {
    if (holdings.has(key)) return Promise.resolve(fault('the port is held already', 3));
    waitingRuns.add(run);
    return new Promise((resolve, reject) => {
      const held = port.inTurn(
        (turn) =>
          new Promise<void>((release) => {
            // The script may be over by now.
            if (!waitingRuns.has(run)) return release();
            holdings.set(key, {
              turn,
              release: () => {
                holdings.delete(key);
                release();
              },
            });
            resolve({ kind: 'done' });
          }),
      );
      held.then(() => resolve(fault('stopped', 2)), reject);
    });
  }

  return {
    carryOut: async (run, call) => {
      switch (call.kind) {
        case 'modbus':
          return modbus(call);
        case 'serial':
          return serial(run, call.port, call.operation);
        case 'question':
          return { kind: 'answer', answer: await channel.request(call.question, call.timeoutMs) };
      }
    },
    release: (run) => {
      for (const [name, loan] of lent) {
        if (loan.run !== run) continue;
        lent.delete(name);
        bus.serialPort(name)?.configure(loan.before);
      }
      waitingRuns.delete(run);
      for (const [key, holding] of holdings) if (key.startsWith(`${run} `)) holding.release();
    },
  };
}

function fault(text: string, number: number): CallResult & { fault: CallFault } {
  return { kind: 'fault', fault: { text, number } };
}

type RawOperation = Exclude<SerialOperation, { do: 'configure' | 'acquire' | 'release' }>;

async function operate(
  turn: SerialTurn,
  operation: RawOperation,
  limits: Limits['field'],
): Promise<CallResult> {
  switch (operation.do) {
    case 'read': {
      const count = Math.min(operation.countMax, limits.serialBufferBytes);
      return { kind: 'bytes', bytes: await turn.read(count, within(operation.timeoutMs, limits)) };
    }
    case 'receive': {
      const pieces: Buffer[] = [];
      let waitMs = within(operation.timeoutMs, limits);
      for (let sizeBytes = 0; sizeBytes < limits.serialBufferBytes; waitMs = silenceMs(turn)) {
        const piece = (await turn.next(waitMs)) ?? (await turn.next(LOOK_AGAIN_MS));
        if (piece === undefined) break;
        pieces.push(piece);
        sizeBytes += piece.length;
      }
      return pieces.length === 0 ? fault('timeout', 1) : { kind: 'bytes', bytes: Buffer.concat(pieces) };
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

function within(timeoutMs: number, limits: Limits['field']): number {
  return Math.max(0, Math.min(timeoutMs, limits.requestMsMax));
}
