/** Command responses from devices to the executions they answer. */
import type { Limits } from '../../lib/limits.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { type CommandResponseMessage, decodeCommandResponse } from '../../protocol/command.ts';
import type { DeviceMessage, DeviceMessageHandler } from '../connectivity/index.ts';
import type { GivenResponse, InFlight } from './in-flight.ts';
import { isFinished } from './model.ts';
import type { ResponseBuffer } from './response-buffer.ts';
import type { CommandStore } from './store.ts';

const LOG_INTERVAL_MS = 60_000;

/**
 * A handler whose promise resolves when the response is on disk. A response that was stored but whose
 * acknowledgement was lost comes again with the DUP flag and is recognised by its content; without the
 * flag, equal responses are two responses.
 */
export function createResponseHandler(options: {
  inFlight: InFlight;
  buffer: ResponseBuffer;
  store: CommandStore;
  log: Log;
  metrics: Metrics;
  limits: Limits['commands'];
}): DeviceMessageHandler {
  const { inFlight, buffer, store, log, limits } = options;
  const ignored = options.metrics.counter(
    'command_responses_ignored_total',
    'Responses that were not recorded.',
    ['reason'],
  );

  function ignore(message: DeviceMessage, reason: string): undefined {
    ignored.inc({ reason });
    log.warnLimited(`response:${message.device.id}`, LOG_INTERVAL_MS, 'command response ignored', {
      device_id: message.device.id,
      execution_id: typeof message.body.id === 'string' ? message.body.id.slice(0, 64) : undefined,
      reason,
    });
  }

  function accept(message: DeviceMessage): Promise<void> | undefined {
    const response = decodeCommandResponse(message.body, limits.responsePayloadBytes);
    if (!response) return ignore(message, 'malformed');
    if (message.duplicate && isRecorded(response)) return buffer.stored();
    const live = inFlight.find(response.id);
    if (!live) return acceptLate(message, response);
    if (live.execution.deviceId !== message.device.id) return ignore(message, 'another device');
    if (inFlight.isFull(live) && !isEnd(response, live.execution.state)) {
      inFlight.heard(live);
      return ignore(message, 'log full');
    }
    buffer.requireRoom(response.payloadText);
    inFlight.apply(live, response.state, givenBy(response, message.receivedAtMs));
    return buffer.stored();
  }

  /** A full log still takes the end of its execution. */
  function isEnd({ state }: CommandResponseMessage, current: Parameters<typeof isFinished>[0]): boolean {
    return !isFinished(current) && (state === 'SUCCEEDED' || state === 'ERROR');
  }

  function isRecorded(response: CommandResponseMessage): boolean {
    const key = { executionId: response.id, state: response.state, payload: response.payloadText };
    return buffer.holds(key) || store.hasResponse(key);
  }

  /** The execution is not in memory: it ended before, or it never was. */
  function acceptLate(message: DeviceMessage, response: CommandResponseMessage): Promise<void> | undefined {
    const summary = store.summary(response.id);
    if (!summary || !isFinished(summary.state)) return ignore(message, 'unknown execution');
    if (summary.deviceId !== message.device.id) return ignore(message, 'another device');
    const waiting = buffer.waiting(response.id);
    if (
      summary.count + waiting.count >= limits.responsesPerExecution ||
      summary.sizeBytes + waiting.sizeBytes >= limits.responseBytesPerExecution
    )
      return ignore(message, 'log full');
    buffer.requireRoom(response.payloadText);
    const given = givenBy(
      response,
      Math.max(message.receivedAtMs, summary.newestReceivedAtMs, waiting.newestMs),
    );
    buffer.add(
      {
        executionId: response.id,
        state: given.state,
        payload: given.payloadText,
        receivedAtMs: given.receivedAtMs,
        executionState: undefined,
      },
      () => {
        const execution = store.get(response.id);
        if (execution)
          inFlight.events.emit('execution_updated', { execution, response: responseOf(given), late: true });
      },
    );
    return buffer.stored();
  }

  return async (message) => {
    try {
      await accept(message);
    } catch (error) {
      // Nothing waits for an acknowledgement at QoS 0; the loss is counted where it happened.
      if (message.qos > 0) throw error;
      ignore(message, 'not stored');
    }
  };
}

function givenBy(response: CommandResponseMessage, receivedAtMs: number): GivenResponse {
  const { state, payload, payloadText } = response;
  return { state, payload, payloadText, receivedAtMs };
}

function responseOf({ state, payload, receivedAtMs }: GivenResponse) {
  return { state, payload, receivedAtMs };
}
