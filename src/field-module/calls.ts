/** Carries out the calls of scripts on serial lines, networks and ports, and ends them with their run. */
import type { Limits } from '../lib/limits.ts';
import type { Clock } from '../platform/clock/index.ts';
import type { ControlChannel } from './control-channel.ts';
import {
  type FieldBus,
  identifyDevice,
  type ModbusAnswer,
  type ModbusRequest,
  noPort,
  scriptFaultOf,
} from './field/index.ts';
import { fault, IoCalls, portResult } from './io-calls.ts';
import type { MqttCalls } from './mqtt-calls.ts';
import { type Asker, SerialCalls } from './serial-calls.ts';
import type { CallResult, MqttOperation, ThreadCall } from './thread-messages.ts';
import { beginExchange, type Exchange, type NoteExchange } from './trace.ts';

interface CallsOptions {
  bus: FieldBus;
  channel: Pick<ControlChannel, 'request'>;
  clock: Pick<Clock, 'monotonicMs' | 'setTimer' | 'wallMs'>;
  limits: Limits['field'];
  mqtt: Pick<MqttCalls, 'carryOut' | 'release'>;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #bus: FieldBus;
  readonly #lives = new Map<number, AbortController>();
  readonly #io: IoCalls;
  readonly #serialCalls: SerialCalls;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#bus = options.bus;
    this.#io = new IoCalls({ io: options.bus.io, limits: options.limits });
    this.#serialCalls = new SerialCalls(options);
  }

  /** Never rejects. @param note of a device that is traced */
  async carryOut(run: number, call: ThreadCall, note?: NoteExchange): Promise<CallResult> {
    switch (call.kind) {
      case 'modbus':
        return this.#modbus(this.#askerOf(run, call), call, note);
      case 'identify':
        return this.#identify(this.#askerOf(run, call), call, note);
      case 'serial':
        return this.#serial(this.#askerOf(run, call), call, note);
      case 'can':
        return this.#io.can(run, call.port, call.operation, this.#askerOf(run, call).isWaiting);
      case 'io':
        return this.#io.io(call.port, call.operation, this.#askerOf(run, call).isWaiting);
      case 'mqtt':
        return this.#mqtt(run, call.operation, note);
      case 'request':
        return { kind: 'answer', answer: await this.#options.channel.request(call.request, call.timeoutMs) };
    }
  }

  /** The script is over: gives back what it holds. */
  release(run: number): void {
    this.#lives.get(run)?.abort();
    this.#lives.delete(run);
    this.#io.release(run);
    this.#serialCalls.release(run);
    this.#options.mqtt.release(run);
  }

  #askerOf(run: number, { remainingMs = Number.POSITIVE_INFINITY }: ThreadCall): Asker {
    const { clock } = this.#options;
    const { signal: over } = this.#lives.getOrInsertComputed(run, () => new AbortController());
    const untilMs = clock.monotonicMs() + remainingMs;
    return { run, untilMs, over, isWaiting: () => !over.aborted && clock.monotonicMs() < untilMs };
  }

  async #modbus(
    asker: Asker,
    call: ThreadCall & { kind: 'modbus' },
    note: NoteExchange | undefined,
  ): Promise<CallResult> {
    const answer = await this.#ask(asker, call, call.request, note);
    if (answer.ok) return { kind: 'values', values: answer.values };
    return { kind: 'fault', fault: scriptFaultOf(answer.fault) };
  }

  async #identify(
    asker: Asker,
    call: ThreadCall & { kind: 'identify' },
    note: NoteExchange | undefined,
  ): Promise<CallResult> {
    const identified = await identifyDevice((request) => this.#ask(asker, call, request, note));
    if (identified.ok) return { kind: 'results', results: [identified.identification] };
    return { kind: 'fault', fault: scriptFaultOf(identified.fault) };
  }

  async #ask(
    { run, untilMs, isWaiting }: Asker,
    call: ThreadCall & { kind: 'modbus' | 'identify' },
    request: ModbusRequest,
    note: NoteExchange | undefined,
  ): Promise<ModbusAnswer> {
    const client = this.#bus.modbus(call.uri);
    if (typeof client === 'string') return { ok: false, fault: { kind: 'invalid_argument', reason: client } };
    const { clock, limits } = this.#options;
    const timeoutMs = Math.min(call.timeoutMs ?? limits.requestMs, untilMs - clock.monotonicMs());
    const { uri: address, unitId } = call;
    const transport = /^\s*tcp:/i.test(address) ? 'modbus_tcp' : 'modbus_rtu';
    const noted = note && beginExchange(note, clock, { transport, address, unitId });
    const asking = { owner: run, isWanted: isWaiting, onBytes: noted?.onBytes };
    const answer = await client.request(unitId, request, timeoutMs, asking);
    noted?.end(answer.ok ? undefined : scriptFaultOf(answer.fault).text);
    return answer;
  }

  async #serial(
    asker: Asker,
    { port: name, operation, task }: ThreadCall & { kind: 'serial' },
    note: NoteExchange | undefined,
  ): Promise<CallResult> {
    const port = this.#bus.serialPort(name);
    if (port === undefined) return fault(noPort(name), 5);
    const { clock } = this.#options;
    const begun = { atMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
    const result = await portResult(() => this.#serialCalls.carryOut(asker, port, operation, task));
    if (operation.do === 'write' || operation.do === 'read' || operation.do === 'receive')
      note?.({
        transport: 'serial',
        address: name,
        atMs: begun.atMs,
        durationMs: clock.monotonicMs() - begun.monotonicMs,
        sent: operation.do === 'write' ? operation.bytes : undefined,
        ...outcomeOf(result),
      });
    return result;
  }

  async #mqtt(run: number, operation: MqttOperation, note: NoteExchange | undefined): Promise<CallResult> {
    const result = await this.#options.mqtt.carryOut(run, operation);
    const about = { transport: 'mqtt', atMs: this.#options.clock.wallMs() } as const;
    if (operation.do === 'publish')
      note?.({ ...about, address: operation.topic, sent: operation.payload, ...outcomeOf(result) });
    else if (operation.do === 'latest') note?.({ ...about, address: operation.topic, ...outcomeOf(result) });
    else if (result.kind === 'messages')
      for (const { topic, payload } of result.messages)
        note?.({ ...about, address: topic, received: payload });
    return result;
  }
}

/** The result, or the reason why there is none. */
function outcomeOf(result: CallResult): Pick<Exchange, 'received' | 'error'> {
  if (result.kind === 'fault') return { error: result.fault.text };
  if (result.kind === 'bytes') return { received: result.bytes };
  return result.kind === 'latest' ? { received: result.payload } : {};
}
