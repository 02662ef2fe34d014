/**
 * Durations of the interface: a sequence of decimal numbers with a unit (`1.5m`, `2h45m`, `1m0s`).
 * Source: docs/interface/http.md#values (d = 24 h, y = 365 d, plain `0`).
 */
import type { DurationMs } from './time.ts';

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  y: 31_536_000_000,
};

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h|d|y)/y;
const LENGTH_MAX = 64;

/** Milliseconds (with fraction, to the nanosecond) of a duration string; `undefined` when it is not one. */
export function parseDurationMs(text: string): DurationMs | undefined {
  if (text === '0') return 0;
  if (text.length === 0 || text.length > LENGTH_MAX) return undefined;
  let totalMs: DurationMs = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const match = PART.exec(text);
    if (!match) return undefined;
    totalMs += Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? Number.NaN);
  }
  return Number.isFinite(totalMs) ? toNanosecond(totalMs) : undefined;
}

/** Errors of floating point are smaller than that: 4.1 m are 246 s, not a little less. */
function toNanosecond(durationMs: DurationMs): number {
  return Number(durationMs.toFixed(6));
}

/** Canonical form as Go prints it: `0s`, `30s`, `1m0s`, `24h0m0s`, `500ms`, `1.5s`. */
export function formatDurationMs(exactMs: DurationMs): string {
  // Rounded first, so that no part rounds up to the next unit.
  const durationMs = toNanosecond(exactMs);
  if (durationMs === 0) return '0s';
  if (durationMs < 1)
    return durationMs < 1e-3 ? `${trim(durationMs * 1e6)}ns` : `${trim(durationMs * 1e3)}µs`;
  if (durationMs < 1_000) return `${trim(durationMs)}ms`;
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const seconds = trim((durationMs % 60_000) / 1_000);
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/** At most nine decimals (a nanosecond of a second), no trailing zeros. */
function trim(value: number): string {
  return String(Number(value.toFixed(9)));
}
