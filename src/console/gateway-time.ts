/**
 * The gateway's clock as the browser knows it: ages of values are judged by the clock that stamped them, not by
 * that of a phone that may be wrong.
 */
import { signal } from '@preact/signals';

const TICK_MS = 1_000;
const SLOW_STEP_S = 15;
let aheadMs = 0;

/** The gateway's time, moving on every second. */
export const nowS = signal(Date.now() / 1_000);

/** The same in steps, for ages that are told in minutes: hundreds of old values need no new look every second. */
export const slowNowS = signal(nowS.value);

/** Takes the gateway's time from something that it has just sent. */
export function noteGatewayTime(instant: string | null): void {
  const sentMs = instant === null ? Number.NaN : Date.parse(instant);
  if (Number.isNaN(sentMs)) return;
  aheadMs = sentMs - Date.now();
}

export function gatewayNowMs(): number {
  return Date.now() + aheadMs;
}

function tick(): void {
  nowS.value = gatewayNowMs() / 1_000;
  if (Math.abs(nowS.value - slowNowS.value) >= SLOW_STEP_S) slowNowS.value = nowS.value;
}

setInterval(tick, TICK_MS);
// A phone that wakes up shows what it showed before, until the next tick.
document.addEventListener('visibilitychange', tick);
