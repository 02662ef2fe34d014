/**
 * A rule's request for an output (docs/interface/lua-rules.md#outputs), as its script gives it; the gateway judges it.
 */
import type { JsonValue } from './telemetry.ts';

export interface OutputParameters {
  deviceId: string;
  name: string;
  /** Null: it only gives bounds. */
  arguments: Record<string, JsonValue> | null;
  options: Record<string, JsonValue>;
}
