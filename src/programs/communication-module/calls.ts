/** Carries out what scripts ask of the wires, and forgets it when their run is over. */
import type { Limits } from '../../lib/limits.ts';
import type { ControlChannel } from './control-channel.ts';
import {
  faultNumber,
  faultText,
  type FieldBus,
  SerialFault,
  type SerialPort,
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

/** Silence that ends a raw message without a length: longer than an adapter keeps bytes back. */
const SILENCE_MS = 30;

export function createCalls(options: {
  bus: FieldBus;
  channel: Pick<ControlChannel, 'request'>;
  limits: Limits['field'];
}): Calls {
  const { bus, channel, limits } = options;
  /** By run and port. */
  const holdings = new Map<string, Holding>();
  const waitingRuns = new Set<number>();

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
      for (let sizeBytes = 0; sizeBytes < limits.serialBufferBytes; waitMs = SILENCE_MS) {
        const piece = await turn.next(waitMs);
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
