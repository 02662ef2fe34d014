/** Commands as the API carries them out. */
import { call, callFor, path } from '../api.ts';
import type { Execution } from '../shapes.ts';
import { say } from '../words/index.ts';

const POLL_INTERVAL_MS = 500;
const ENDED = new Set(['SUCCESS', 'ERROR', 'TIMEOUT']);

/** Starts a command. @throws ApiError, NoAnswer */
export function send(
  deviceId: string,
  name: string,
  values: Record<string, unknown>,
): Promise<{ execution_id: string }> {
  return call('POST', path`/v3/devices/${deviceId}/commands/executions`, { name, arguments: values });
}

/** An execution with what the device has said so far. @throws ApiError, NoAnswer */
export function read(deviceId: string, executionId: string): Promise<Execution> {
  const address = path`/v3/devices/${deviceId}/commands/executions/${executionId}`;
  return callFor('execution', 'GET', `${address}?expand=log`);
}

/**
 * Runs a command to its end, and returns what the device answered. @param otherwise what is said of a failure that the
 * device says nothing about @throws Error with what the device said instead
 */
export async function outcomeOf(
  deviceId: string,
  name: string,
  values: Record<string, unknown>,
  otherwise?: string,
): Promise<Record<string, unknown>> {
  const { execution_id: id } = await send(deviceId, name, values);
  let execution = await read(deviceId, id);
  while (!ENDED.has(execution.state)) {
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
    execution = await read(deviceId, id);
  }
  const payload = execution.response?.payload ?? {};
  if (execution.state === 'SUCCESS') return payload;
  const { message } = payload;
  if (typeof message === 'string') throw new Error(say.frame.logged(message));
  throw new Error(
    otherwise ?? (execution.state === 'TIMEOUT' ? say.devices.isDoneUnknown : say.devices.failed),
  );
}
