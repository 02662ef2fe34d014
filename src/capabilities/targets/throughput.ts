/** Samples and bytes per second over the last half minute. */
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';

const SPAN_MS = 30_000;
const SLOTS = 6;
const SLOT_MS = SPAN_MS / SLOTS;

interface Slot {
  fromMs: MonotonicMs;
  samples: number;
  bytes: number;
}

export class Throughput {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #startedMs: MonotonicMs;
  #slots: Slot[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  add(samples: number, bytes: number): void {
    const nowMs = this.#clock.monotonicMs();
    const fromMs = nowMs - (nowMs % SLOT_MS);
    let slot = this.#slots.at(-1);
    if (slot?.fromMs !== fromMs) {
      slot = { fromMs, samples: 0, bytes: 0 };
      this.#slots = [...this.#slots.slice(1 - SLOTS), slot];
    }
    slot.samples += samples;
    slot.bytes += bytes;
  }

  now(): { samplesPerS: number; bytesPerS: number } {
    const nowMs = this.#clock.monotonicMs();
    const slots = this.#slots.filter(({ fromMs }) => fromMs > nowMs - SPAN_MS);
    const spanS = Math.max(1, Math.min(SPAN_MS, nowMs - this.#startedMs) / 1_000);
    const sum = (of: (slot: Slot) => number): number =>
      Math.round(slots.reduce((total, slot) => total + of(slot), 0) / spanS);
    return { samplesPerS: sum(({ samples }) => samples), bytesPerS: sum(({ bytes }) => bytes) };
  }
}
