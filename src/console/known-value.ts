/** The newest value of an attribute, and how often it is measured. */
import type { DurationS, EpochS } from '../lib/time.ts';
import { isAhead } from './format.ts';
import { gatewayNowMs } from './gateway-time.ts';

export interface KnownValue {
  value: unknown;
  timestampS: EpochS;
  /** Undefined for a value that was read instead of received by the stream. */
  receivedAtS: EpochS | undefined;
  /** Seconds since the measurement before, and before that one; 0: not known. */
  pausesS: readonly [last: number, before: number];
}

/** How often it is measured; a single long pause is no rhythm, and a short one after it ends it. */
export const pauseOf = ({ pausesS: [last, before] }: KnownValue): number =>
  before === 0 ? last : Math.min(last, before);

/**
 * The latest is that by time of measurement: devices also send buffered values. A known value from the future comes from a
 * wrong clock, so that any other is newer, as for the gateway.
 */
export function setValue(
  values: Map<string, KnownValue>,
  name: string,
  value: unknown,
  timestampS: EpochS,
  receivedAtS: EpochS | undefined,
  /** As the gateway knows it; 0: it does not. */
  usualPauseS: DurationS = 0,
): void {
  const before = values.get(name);
  const nowS = receivedAtS ?? gatewayNowMs() / 1_000;
  if (before && before.timestampS > timestampS && !isAhead(before.timestampS, nowS)) return;
  const isSame = before?.timestampS === timestampS;
  const [last = usualPauseS] = before?.pausesS ?? [];
  values.set(name, {
    value,
    timestampS,
    receivedAtS: receivedAtS ?? (isSame ? before.receivedAtS : undefined),
    pausesS: isSame
      ? before.pausesS
      : [before ? Math.max(0, timestampS - before.timestampS) : usualPauseS, last],
  });
}
