/** Selects the samples to send: chosen devices and attributes, thinned by time or to changes. */
import type { ChangedSamples } from '../telemetry/index.ts';
import type { Selection } from './model.ts';

/** The sample of a series that was sent last. */
interface Last {
  stretch: number;
  value: unknown;
}

/** Series remembered; beyond that the oldest ones are forgotten, and their next sample is sent. */
const SERIES_KEPT = 20_000;

/** An empty list restricts nothing, as in channels. */
const isAll = (list: readonly string[] | null): list is null => !list || list.length === 0;

export class SampleFilter {
  readonly #selection: Selection;
  readonly #last = new Map<string, Last>();

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  /** True when an attribute of a device goes to the target at all. */
  includes(device: { id: string; slug: string }, attribute: string): boolean {
    const { attributes } = this.#selection;
    if (!this.includesDevice(device)) return false;
    return isAll(attributes) || attributes.some((pattern) => matches(pattern, attribute));
  }

  includesDevice(device: { id: string; slug: string }): boolean {
    const { devices } = this.#selection;
    return isAll(devices) || devices.includes(device.id) || devices.includes(device.slug);
  }

  /** The samples to send; the same object when these are all. */
  of<Samples extends ChangedSamples>(samples: Samples): Samples {
    const { intervalS, isOnChange, fromMs } = this.#selection;
    const isWhole = (samples.times[0] ?? 0) * 1_000 >= fromMs;
    if (intervalS === 0 && !isOnChange && isWhole) return samples;
    const kept: number[] = [];
    for (let index = 0; index < samples.times.length; index++)
      if ((samples.times[index] as number) * 1_000 >= fromMs && this.#isSelected(samples, index))
        kept.push(index);
    if (kept.length === samples.times.length) return samples;
    return {
      ...samples,
      times: Uint32Array.from(kept, (index) => samples.times[index] as number),
      numbers: Float64Array.from(kept, (index) => samples.numbers[index] as number),
      integers:
        samples.integers &&
        BigInt64Array.from(kept, (index) => (samples.integers as BigInt64Array)[index] as bigint),
    };
  }

  #isSelected(samples: ChangedSamples, index: number): boolean {
    const { intervalS, isOnChange } = this.#selection;
    if (intervalS === 0 && !isOnChange) return true;
    const key = `${samples.deviceId} ${samples.attribute} ${samples.block ?? ''}`;
    const number = samples.numbers[index] as number;
    const value = samples.texts.length > 0 ? samples.texts[number] : (samples.integers?.[index] ?? number);
    const stretch = intervalS === 0 ? 0 : Math.floor((samples.times[index] as number) / intervalS);
    const last = this.#last.get(key);
    if (last && intervalS > 0 && last.stretch === stretch) return false;
    if (last && isOnChange && last.value === value) return false;
    this.#last.delete(key);
    this.#last.set(key, { stretch, value });
    const [oldest] = this.#last.keys();
    if (oldest !== undefined && this.#last.size > SERIES_KEPT) this.#last.delete(oldest);
    return true;
  }
}

function matches(pattern: string, attribute: string): boolean {
  return pattern.endsWith('*') ? attribute.startsWith(pattern.slice(0, -1)) : attribute === pattern;
}
