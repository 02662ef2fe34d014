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
import type { CallResult, ThreadCall } from './thread-messages.ts';

interface CallsOptions {
  bus: FieldBus;
  channel: Pick<ControlChannel, 'request'>;
  clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
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

  /** Never rejects. */
  async carryOut(run: number, call: ThreadCall): Promise<CallResult> {
    switch (call.kind) {
      case 'modbus':
        return this.#modbus(this.#askerOf(run, call), call);
      case 'identify':
        return this.#identify(this.#askerOf(run, call), call);
      case 'serial':
        return this.#serial(this.#askerOf(run, call), call);
      case 'can':
        return this.#io.can(run, call.port, call.operation, this.#askerOf(run, call).isWaiting);
      case 'io':
        return this.#io.io(call.port, call.operation, this.#askerOf(run, call).isWaiting);
      case 'mqtt':
        return this.#options.mqtt.carryOut(run, call.operation);
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

  async #modbus(asker: Asker, call: ThreadCall & { kind: 'modbus' }): Promise<CallResult> {
    const answer = await this.#ask(asker, call, call.request);
    if (answer.ok) return { kind: 'values', values: answer.values };
    return { kind: 'fault', fault: scriptFaultOf(answer.fault) };
  }

  async #identify(asker: Asker, call: ThreadCall & { kind: 'identify' }): Promise<CallResult> {
    const identified = await identifyDevice((request) => this.#ask(asker, call, request));
    if (identified.ok) return { kind: 'results', results: [identified.identification] };
    return { kind: 'fault', fault: scriptFaultOf(identified.fault) };
  }

  async #ask(
    { run, untilMs, isWaiting }: Asker,
    call: ThreadCall & { kind: 'modbus' | 'identify' },
    request: ModbusRequest,
  ): Promise<ModbusAnswer> {
    const client = this.#bus.modbus(call.uri);
    if (typeof client === 'string') return { ok: false, fault: { kind: 'invalid_argument', reason: client } };
    const { clock, limits } = this.#options;
    const timeoutMs = Math.min(call.timeoutMs ?? limits.requestMs, untilMs - clock.monotonicMs());
    return client.request(call.unitId, request, timeoutMs, { owner: run, isWanted: isWaiting });
  }

  async #serial(
    asker: Asker,
    { port: name, operation, task }: ThreadCall & { kind: 'serial' },
  ): Promise<CallResult> {
    const port = this.#bus.serialPort(name);
    if (port === undefined) return fault(noPort(name), 5);
    return portResult(() => this.#serialCalls.carryOut(asker, port, operation, task));
  }
}
