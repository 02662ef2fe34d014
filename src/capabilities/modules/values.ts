/** Values of a script as others of the gateway take them, and back. */
import { writableJson } from '../../protocol/telemetry.ts';
import type { Execution } from '../commands/index.ts';

/** For whoever writes JSON: with all digits of its integers. */
export const tableOf = (values: Record<string, unknown> | undefined): Record<string, unknown> | undefined =>
  writableJson(values) as Record<string, unknown> | undefined;

/** How a command ended, for the script that gave it. */
export function outcomeOf({ state, response }: Execution): {
  state: 'completed' | 'error';
  payload: Record<string, unknown>;
} {
  return { state: state === 'SUCCESS' ? 'completed' : 'error', payload: response?.payload ?? {} };
}
