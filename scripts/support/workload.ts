/**
 * Workload W: a site of 50 devices with 20 attributes each at 1 Hz, the same for a seed, whatever part of it
 * is asked for. Voltages that drift slowly under sensor noise, powers that follow the sun or the load,
 * counters, setpoints, states and switches, in the proportions of a real installation.
 *
 * Numbers are made as whole numbers of the last digit that the device sends.
 */

import { DEVICE_KINDS, type SignalDefinition } from './workload-devices.ts';

/** Default begin of a workload: 2026-10-01T00:00:00Z. */
export const WORKLOAD_START_S = 1_790_812_800;
const DAY_S = 86_400;

/** Numbers from 0 to 2^32 - 1 that look random, from a state that moves by a constant (mulberry32). */
class Dice {
  #state: number;
  constructor(seed: string) {
    let hash = 0x811c9dc5;
    for (let index = 0; index < seed.length; index++)
      hash = Math.imul(hash ^ seed.charCodeAt(index), 0x01000193);
    this.#state = hash | 0;
  }
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
  share(): number {
    return this.roll() / 0x100000000;
  }
}

/** The sum of the four bytes of a roll is nearly normal: mean 510, deviation 147.8. */
function normal(roll: number): number {
  return ((roll & 255) + ((roll >>> 8) & 255) + ((roll >>> 16) & 255) + (roll >>> 24) - 510) / 147.8;
}

interface Weather {
  sun: number;
  load: number;
}

/** The next value, in units of the last digit; for states the index of the word, for switches 0 or 1. */
type Signal = (weather: Weather) => number;

function createSignal(definition: SignalDefinition, dice: Dice): Signal {
  const trait = dice.share();
  switch (definition.form) {
    case 'drift': {
      const { base, swing, noise, dayShare, curve } = definition;
      let offset = (trait - 0.5) * swing;
      return (weather) => {
        const roll = dice.roll();
        // The hidden value moves about every eighth second and is drawn back to its mean.
        if ((roll & 7) === 0) offset += -offset / 400 + normal(dice.roll()) * swing * 0.02;
        const day = 1 - dayShare + dayShare * weather[curve] * (0.95 + 0.1 * trait);
        const value = base * day + offset + (noise > 0.02 ? normal(roll) * noise : 0);
        return Math.max(0, Math.round(value));
      };
    }
    case 'power': {
      const { peak, noise, curve } = definition;
      let offset = 0;
      return (weather) => {
        const roll = dice.roll();
        offset += -offset / 120 + ((roll & 3) === 0 ? normal(dice.roll()) * peak * 0.004 : 0);
        const share = weather[curve];
        if (share <= 0) return 0;
        return Math.max(
          0,
          Math.round(peak * share * (0.9 + 0.2 * trait) + offset * share + normal(roll) * noise),
        );
      };
    }
    case 'counter': {
      const start = Math.floor(trait * 5e6);
      let counted = 0;
      return (weather) => {
        counted += definition.perSecond * weather[definition.curve] * (0.9 + 0.2 * trait);
        return start + Math.floor(counted);
      };
    }
    case 'uptime': {
      let seconds = Math.floor(trait * 2e6);
      // A restart about every six days.
      return () => (seconds = dice.roll() < 8_590 ? 0 : seconds + 1);
    }
    case 'setpoint': {
      const { steps } = definition;
      let value = steps[0] ?? 0;
      return () => {
        if (dice.share() < 1 / definition.dwellS) value = steps[dice.roll() % steps.length] ?? value;
        return value;
      };
    }
    case 'state': {
      let word = 0;
      return () => {
        if (dice.share() < 1 / definition.dwellS) word = dice.roll() % definition.words.length;
        return word;
      };
    }
    case 'switch': {
      let value = trait < 0.5 ? 0 : 1;
      return () => {
        if (dice.share() < 1 / definition.dwellS) value = 1 - value;
        return value;
      };
    }
  }
}

export interface WorkloadDevice {
  readonly index: number;
  readonly kind: string;
  readonly hardwareId: string;
  readonly topic: string;
  readonly signals: readonly SignalDefinition[];
  /** Index of its first series. */
  readonly first: number;
  /** False in a second in which it sends nothing. */
  isPresent: boolean;
}

/** Names of what a device measures, noise included. */
export const measuredNames = ({ signals }: WorkloadDevice): string[] =>
  signals.filter(({ form }) => form === 'drift' || form === 'power').map(({ name }) => name);

export interface Workload {
  readonly devices: readonly WorkloadDevice[];
  readonly seriesCount: number;
  /** Unix seconds of the values. */
  readonly nowS: number;
  /** Value of each series, in units of its last digit. */
  readonly scaled: Float64Array;
  /** One step passes, as a rule a second. */
  tick(): void;
  /** What JSON.parse makes of the value of a series. */
  value(series: number): number | string | boolean;
  /** The message of a device as JSON text. */
  message(device: WorkloadDevice): string;
}

/**
 * What a device makes of a measured number. `decimal`: JSON has the digits it shows. `single`: it holds 32 bits and JSON
 * has the double of them, 230.10000610351562 for 230.1. `noisy`: the same, unrounded.
 */
export type NumberForm = 'decimal' | 'single' | 'noisy';

export function createWorkload(options: {
  seed: number;
  numbers?: NumberForm;
  devices?: number;
  startS?: number;
  /** Seconds that pass with each tick. Default: 1. */
  stepS?: number;
  /** Only so many of the kinds of devices, and of the signals of each. Default: all. */
  kinds?: number;
  signals?: number;
  /** Share of messages that never come. */
  missing?: number;
}): Workload {
  const { seed, missing = 0.001, numbers = 'decimal', stepS = 1 } = options;
  const noise = new Dice(`noise ${seed}`);
  const kinds = Object.keys(DEVICE_KINDS).slice(0, options.kinds);
  const devices: WorkloadDevice[] = [];
  const definitions: SignalDefinition[] = [];
  const signals: Signal[] = [];
  for (let index = 0; index < (options.devices ?? 50); index++) {
    const kind = kinds[index % kinds.length] ?? '';
    const ofKind = (DEVICE_KINDS[kind] ?? []).slice(0, options.signals);
    const hardwareId = hardwareIdOf(new Dice(`hardware ${seed} ${index}`));
    const topic = `v1/from/${hardwareId}/ucm/v1/telemetry`;
    devices.push({ index, kind, hardwareId, topic, signals: ofKind, first: signals.length, isPresent: true });
    for (const definition of ofKind) {
      definitions.push(definition);
      signals.push(createSignal(definition, new Dice(`signal ${seed} ${index} ${definition.name}`)));
    }
  }
  const presence = devices.map(({ index }) => new Dice(`presence ${seed} ${index}`));
  const sky = new Dice(`sky ${seed}`);
  const scaled = new Float64Array(signals.length);
  let cloud = 0;
  let nowS = (options.startS ?? WORKLOAD_START_S) - stepS;

  function weather(): Weather {
    const hour = (nowS % DAY_S) / 3_600;
    cloud += -cloud / 900 + normal(sky.roll()) * 0.02;
    const clear = Math.min(1, Math.max(0.15, 0.85 + cloud));
    return {
      sun: hour > 6 && hour < 20 ? Math.sin((Math.PI * (hour - 6)) / 14) ** 1.2 * clear : 0,
      load:
        0.45 +
        0.2 * Math.sin((Math.PI * (hour - 9)) / 12) +
        0.15 * Math.sin((Math.PI * (hour - 3)) / 6) +
        cloud * 0.1,
    };
  }

  function value(series: number): number | string | boolean {
    const definition = definitions[series] as SignalDefinition;
    const measured = valueOf(definition, scaled[series] as number);
    if (numbers === 'decimal' || typeof measured !== 'number' || definition.decimals === 0) return measured;
    return Math.fround(
      numbers === 'single' ? measured : measured + (noise.share() - 0.5) * 10 ** -definition.decimals,
    );
  }

  return {
    devices,
    seriesCount: signals.length,
    get nowS() {
      return nowS;
    },
    scaled,
    tick: () => {
      nowS += stepS;
      const now = weather();
      for (let index = 0; index < devices.length; index++)
        (devices[index] as WorkloadDevice).isPresent = (presence[index] as Dice).share() >= missing;
      for (let index = 0; index < signals.length; index++) scaled[index] = (signals[index] as Signal)(now);
    },
    value,
    message: (device) => {
      let text = `{"timestamp":${nowS}`;
      for (const [offset, definition] of device.signals.entries()) {
        const series = device.first + offset;
        const told =
          numbers === 'decimal'
            ? textOf(definition, scaled[series] as number)
            : JSON.stringify(value(series));
        text += `,"${definition.name}":${told}`;
      }
      return `${text}}`;
    },
  };
}

function valueOf(definition: SignalDefinition, scaled: number): number | string | boolean {
  if (definition.form === 'state') return definition.words[scaled] ?? '';
  return definition.form === 'switch' ? scaled === 1 : scaled / 10 ** definition.decimals;
}

const texts = new Map<number, string>();

function textOf(definition: SignalDefinition, scaled: number): string {
  if (definition.form === 'state') return `"${definition.words[scaled] ?? ''}"`;
  if (definition.form === 'switch') return scaled === 1 ? 'true' : 'false';
  const key = scaled * 4 + definition.decimals;
  let text = texts.get(key);
  if (text === undefined) {
    text = String(scaled / 10 ** definition.decimals);
    if (texts.size < 200_000) texts.set(key, text);
  }
  return text;
}

function hardwareIdOf(dice: Dice): string {
  let text = '';
  for (let part = 0; part < 5; part++) text += dice.roll().toString(16).padStart(8, '0');
  return text.toUpperCase();
}

/** The attribute of a blueprint's manifest that a signal fits. */
export function attributeTypeOf(definition: SignalDefinition): 'float' | 'integer' | 'string' | 'boolean' {
  if (definition.form === 'state') return 'string';
  if (definition.form === 'switch') return 'boolean';
  return definition.decimals === 0 ? 'integer' : 'float';
}
