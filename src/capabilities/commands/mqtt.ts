/** Command responses from devices to the executions they answer. */
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { type CommandResponseMessage, decodeCommandResponse } from '../../protocol/command.ts';
import type { DeviceMessage } from '../connectivity/index.ts';
import type { GivenResponse, InFlight } from './in-flight.ts';
import { isFinished } from './model.ts';
import type { ResponseBuffer } from './response-buffer.ts';
import type { CommandStore } from './store.ts';

const LOG_INTERVAL_MS = 60_000;

interface ResponseHandlerOptions {
  inFlight: InFlight;
  buffer: ResponseBuffer;
  store: CommandStore;
  log: Log;
  metrics: Metrics;
  limits: Limits['commands'];
}

/**
 * Handles responses. A response that was stored, but whose acknowledgement was lost, comes again with the DUP flag and is
 * recognised by its content; without the flag, equal responses are two responses.
 */
export class ResponseHandler {
  readonly #options: ResponseHandlerOptions;
  readonly #ignored;

  constructor(options: ResponseHandlerOptions) {
    this.#options = options;
    this.#ignored = options.metrics.counter(
      'command_responses_ignored_total',
      'Responses that were not recorded.',
      { reason: ['malformed', 'another device', 'unknown execution', 'log full', 'not stored'] },
    );
  }

  /** Resolves when the response is on disk. */
  async handle(message: DeviceMessage): Promise<void> {
    try {
      await this.#accept(message);
    } catch (error) {
      // No acknowledgement is expected at QoS 0; the loss is counted where it happened.
      if (message.qos > 0) throw error;
      this.#ignore(message, 'not stored');
    }
  }

  #ignore({ device, body }: DeviceMessage, reason: string): undefined {
    this.#ignored.inc({ reason });
    this.#options.log.warnLimited(`response:${device.id}`, LOG_INTERVAL_MS, 'command response ignored', {
      device_id: device.id,
      execution_id: typeof body.id === 'string' ? body.id.slice(0, 64) : undefined,
      reason,
    });
  }

  #accept(message: DeviceMessage): Promise<void> | undefined {
    const { buffer, inFlight, limits } = this.#options;
    const response = decodeCommandResponse(message.body, limits.responsePayloadBytes);
    if (!response) return this.#ignore(message, 'malformed');
    if (message.duplicate && this.#isRecorded(response)) return buffer.stored();
    const live = inFlight.find(response.id);
    if (!live) return this.#acceptLate(message, response);
    if (live.execution.deviceId !== message.device.id) return this.#ignore(message, 'another device');
    if (inFlight.isFull(live) && !isEnd(response, live.execution.state)) {
      inFlight.noteProgress(live);
      return this.#ignore(message, 'log full');
    }
    buffer.requireRoom(response.payloadText);
    inFlight.apply(live, response.state, givenBy(response, message.receivedAtMs));
    return buffer.stored();
  }

  #isRecorded(response: CommandResponseMessage): boolean {
    const key = { executionId: response.id, state: response.state, payload: response.payloadText };
    return this.#options.buffer.holds(key) || this.#options.store.hasResponse(key);
  }

  /** The execution is not in memory: it ended before, or it never was. */
  #acceptLate(message: DeviceMessage, response: CommandResponseMessage): Promise<void> | undefined {
    const { buffer, limits, store } = this.#options;
    const summary = store.summary(response.id);
    if (!summary || !isFinished(summary.state)) return this.#ignore(message, 'unknown execution');
    if (summary.deviceId !== message.device.id) return this.#ignore(message, 'another device');
    const waiting = buffer.waiting(response.id);
    if (
      summary.count + waiting.count >= limits.responsesPerExecution ||
      summary.sizeBytes + waiting.sizeBytes >= limits.responseBytesPerExecution
    )
      return this.#ignore(message, 'log full');
    buffer.requireRoom(response.payloadText);
    const newestMs = Math.max(message.receivedAtMs, summary.newestReceivedAtMs, waiting.newestMs);
    this.#addLate(response.id, givenBy(response, newestMs));
    return buffer.stored();
  }

  #addLate(executionId: string, given: GivenResponse): void {
    const { buffer, inFlight, store } = this.#options;
    const { state, payload, payloadText, receivedAtMs } = given;
    buffer.add({ executionId, state, payload: payloadText, receivedAtMs, executionState: undefined }, () => {
      const execution = store.get(executionId);
      const response = { state, payload, receivedAtMs };
      if (execution) inFlight.events.emit('execution_updated', { execution, response, late: true });
    });
  }
}

/** A full log still takes the end of its execution. */
function isEnd({ state }: CommandResponseMessage, current: Parameters<typeof isFinished>[0]): boolean {
  return !isFinished(current) && (state === 'SUCCEEDED' || state === 'ERROR');
}

function givenBy(response: CommandResponseMessage, receivedAtMs: EpochMs): GivenResponse {
  const { state, payload, payloadText } = response;
  return { state, payload, payloadText, receivedAtMs };
}
