/** Comparison of configuration values as JSON has them. Pure. */

import { exactJson } from '../../protocol/telemetry.ts';

/** The same text for the same values; the order of parameters means nothing. */
export function canonicalValues(values: Record<string, unknown> | undefined): string {
  return exactJson(values === undefined ? [] : Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}
