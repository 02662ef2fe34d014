/**
 * The gateway's clock as the browser knows it: ages of values are judged by the clock that stamped them, not by
 * that of a phone that may be wrong.
 */
import { signal } from '@preact/signals';
import type { DurationMs, EpochMs } from '../lib/time.ts';

const TICK_MS = 1_000;
const SLOW_STEP_S = 15;
/** An answer that took longer may have waited while the machine slept. */
const RECENT_MS = 5_000;
/** By how much the gateway's clock is ahead of this one; undefined: not known yet. */
let aheadMs: DurationMs | undefined;

/** The gateway's time, moving on every second. */
export const nowS = signal(Date.now() / 1_000);

/** The same in steps, for ages in minutes: hundreds of old values need not be drawn every second. */
export const slowNowS = signal(nowS.value);

/**
 * Takes the gateway's time from something that it has sent. A late message makes its clock seem slow, and old values
 * fresh: so only a quick answer sets it back. @param askedAtMs absent: it came by itself, perhaps late
 */
export function noteGatewayTime(instant: string | null, askedAtMs: EpochMs = -Infinity): void {
  const sentMs = instant === null ? Number.NaN : Date.parse(instant);
  if (Number.isNaN(sentMs)) return;
  const before = aheadMs;
  const isLate = Date.now() - askedAtMs > RECENT_MS;
  aheadMs = isLate ? Math.max(before ?? -Infinity, sentMs - Date.now()) : sentMs - Date.now();
  // A picture drawn by another clock would be wrong until the next tick.
  if (Math.abs(aheadMs - (before ?? 0)) > TICK_MS) tick();
}

export function gatewayNowMs(): EpochMs {
  return Date.now() + (aheadMs ?? 0);
}

function tick(): void {
  nowS.value = gatewayNowMs() / 1_000;
  if (Math.abs(nowS.value - slowNowS.value) >= SLOW_STEP_S) slowNowS.value = nowS.value;
}

setInterval(tick, TICK_MS);
// A phone that wakes up shows what it showed before, until the next tick.
document.addEventListener('visibilitychange', tick);
