/** Watches the values that count as energy, so that a device which sends an impossible one is named while it does. */
import type { DurationMs, EpochS, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { TelemetryEvents } from '../telemetry/index.ts';

/** An attribute of a device that counts, with the most that it may be. */
export interface Watched {
  attribute: string;
  unit: 'W' | 'Wh' | '%';
  /** In W, Wh or %, of one of the attribute. */
  factor: number;
  least: number;
  most: number;
}

interface Counted {
  value: number;
  /** Since when it has this value. */
  sinceS: EpochS;
}

/** Source: docs/energy.md: one entry for each attribute. */
const REPORT_INTERVAL_MS: DurationMs = 3_600_000;

export class ImplausibleValues {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #reportedMs = new Map<string, MonotonicMs>();
  readonly #counted = new Map<string, Counted>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Sentences about the values of a message, each attribute at most once an hour. */
  check(
    deviceId: string,
    watched: readonly Watched[],
    message: Pick<TelemetryEvents['telemetry_received'], 'timestampS' | 'values'>,
  ): string[] {
    return watched.flatMap((one) => {
      const received = message.values.get(one.attribute);
      if (!received?.isLatest) return [];
      const value = Number(received.value) * one.factor;
      const key = `${deviceId} ${one.attribute}`;
      const fault = one.unit === 'Wh' ? this.#jump(key, one, value, message.timestampS) : outside(one, value);
      return fault !== undefined && this.#isDue(key) ? [`Telemetry "${one.attribute}": ${fault}`] : [];
    });
  }

  /** Forgets attributes that count no more. */
  keep(keys: ReadonlySet<string>): void {
    for (const map of [this.#reportedMs, this.#counted])
      for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
  }

  #jump(key: string, { most }: Watched, value: number, atS: EpochS): string | undefined {
    const before = this.#counted.get(key);
    if (before?.value === value) return undefined;
    this.#counted.set(key, { value, sinceS: atS });
    if (!before) return undefined;
    const riseWh = value - before.value;
    const seconds = Math.max(1, atS - before.sinceS);
    return riseWh > (most / 3_600) * seconds
      ? `The counter rose by ${rounded(riseWh)} Wh in ${seconds} s, which is more than ${most} W. It does not count as energy.`
      : undefined;
  }

  #isDue(key: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#reportedMs.get(key) ?? Number.NEGATIVE_INFINITY) < REPORT_INTERVAL_MS) return false;
    this.#reportedMs.set(key, nowMs);
    return true;
  }
}

function outside({ unit, least, most }: Watched, value: number): string | undefined {
  if (!(value < least || value > most)) return undefined;
  const bounds = unit === 'W' ? `is more than ${most} W` : `is not from 0 to 100 ${unit}`;
  return `The value of ${rounded(value)} ${unit} ${bounds}. It is kept, but does not count for the energy of the site.`;
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
