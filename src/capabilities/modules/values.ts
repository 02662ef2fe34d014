import { writableJson } from '../../protocol/telemetry.ts';

/** Values of a script for whoever writes JSON: with all digits of its integers. */
export const tableOf = (values: Record<string, unknown> | undefined): Record<string, unknown> | undefined =>
  writableJson(values) as Record<string, unknown> | undefined;
