/** Carries out the calls of scripts on CAN, contacts and analogue channels. */
import { Buffer } from 'node:buffer';
import type { Limits } from '../lib/limits.ts';
import { type CanBus, CanMailbox, type FieldBus, noPort, PortFault } from './field/index.ts';
import type { CallResult, CanOperation, IoOperation, WireFrame } from './thread-messages.ts';

/** A mailbox of one script on one bus. */
interface Kept {
  mailbox: CanMailbox;
  /** How many frames it can hold. */
  room: number;
  stop: () => void;
}

export class IoCalls {
  readonly #io: FieldBus['io'];
  readonly #limits: Limits['field'];
  /** By run and number of the mailbox. */
  readonly #kept = new Map<number, Map<number, Kept>>();

  constructor(options: { io: FieldBus['io']; limits: Limits['field'] }) {
    this.#io = options.io;
    this.#limits = options.limits;
  }

  /** `isWanted`: the caller still waits for it. Rejects only with faults of this program. */
  can(run: number, port: string, operation: CanOperation, isWanted: () => boolean): Promise<CallResult> {
    return portResult(() => this.#operate(run, required(this.#io.buses, port), operation, isWanted));
  }

  io(port: string, operation: IoOperation, isWanted: () => boolean): Promise<CallResult> {
    return portResult(() => this.#carryOut(port, operation, isWanted));
  }

  /** The script is over. */
  release(run: number): void {
    for (const { stop } of this.#kept.get(run)?.values() ?? []) stop();
    this.#kept.delete(run);
  }

  async #operate(
    run: number,
    bus: CanBus,
    operation: CanOperation,
    isWanted: () => boolean,
  ): Promise<CallResult> {
    if (operation.do === 'send') {
      await bus.send(operation.id, operation.data, isWanted);
      return DONE;
    }
    if (operation.do === 'keep') return this.#keep(run, bus, operation);
    const mailbox = this.#kept.get(run)?.get(operation.mailbox)?.mailbox;
    if (mailbox === undefined) return fault('there is no such mailbox', 3);
    if (operation.do === 'drops') return results(mailbox.takeDropped(operation.id));
    const rows = operation.ids === undefined ? [mailbox.take()] : operation.ids.map((id) => mailbox.take(id));
    return results(
      rows.map((frames) => frames.map(({ id, data }): WireFrame => [id, Buffer.from(data).toString('hex')])),
    );
  }

  #keep(run: number, bus: CanBus, operation: CanOperation & { do: 'keep' }): CallResult {
    const { canMailboxes, canFramesKept } = this.#limits;
    const mailboxes = this.#kept.getOrInsertComputed(run, () => new Map());
    const room = operation.sizeMax * Math.max(1, operation.ids?.length ?? 1);
    const taken = [...mailboxes.values()].reduce((sum, kept) => sum + kept.room, 0);
    if (!mailboxes.has(operation.mailbox) && mailboxes.size >= canMailboxes)
      return fault(`a script has ${canMailboxes} monitors and queues at most`, 3);
    if (taken + room > canFramesKept)
      return fault(`a script keeps ${canFramesKept} frames at most, counted by the sizes of its queues`, 3);
    mailboxes.get(operation.mailbox)?.stop();
    const mailbox = new CanMailbox(operation.ids, operation);
    const stop = bus.listen((frame) => mailbox.put(frame));
    mailboxes.set(operation.mailbox, { mailbox, room, stop });
    return DONE;
  }

  async #carryOut(port: string, operation: IoOperation, isWanted: () => boolean): Promise<CallResult> {
    const contact = () => required(this.#io.contacts, port);
    switch (operation.do) {
      case 'is_closed':
        return results(await contact().isClosed());
      case 'debounce':
        return results(contact().debounceMs);
      case 'read_counter': {
        const { count, seconds } = await contact().readCounter();
        return results(count, seconds);
      }
      case 'set_counter':
        await contact().setCounter(operation.count);
        return DONE;
      case 'measure':
        return results(await required(this.#io.channels, port).measure(operation.quantity));
      case 'is_on':
        return results(await required(this.#io.outputs, port).isOn());
      case 'set':
        await required(this.#io.outputs, port).set(operation.isOn, isWanted);
        return DONE;
      case 'impulse': {
        const durationMs = Math.min(operation.durationMs, this.#limits.impulseMsMax);
        await required(this.#io.outputs, port).impulse(durationMs, isWanted);
        return DONE;
      }
    }
  }
}

const DONE: CallResult = { kind: 'done' };

/** @throws PortFault */
function required<Port>(ports: ReadonlyMap<string, Port>, name: string): Port {
  const port = ports.get(name);
  if (port === undefined) throw new PortFault('not_supported', noPort(name));
  return port;
}

/** A port that cannot be used is an answer, not a fault of this program. */
export async function portResult(operation: () => Promise<CallResult>): Promise<CallResult> {
  try {
    return await operation();
  } catch (error) {
    if (!(error instanceof PortFault)) throw error;
    return { kind: 'fault', fault: error.ofScript };
  }
}

function results(...values: (number | boolean | object)[]): CallResult {
  return { kind: 'results', results: values };
}

export function fault(text: string, number: number): CallResult {
  return { kind: 'fault', fault: { text, number } };
}
