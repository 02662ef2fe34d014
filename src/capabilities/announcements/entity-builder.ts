/** Gathers what one entity gives its device; what is not supported raises `Refusal`. */
import type { Config, Entity } from './announcement.ts';
import {
  type Argument,
  type Attribute,
  type Availability,
  type AvailabilityTopic,
  hasWildcard,
  type Interpreted,
  type Reading,
} from './model.ts';
import { maySlug } from './names.ts';
import { TemplateFault } from './template-parser.ts';
import { NoNumber, readTemplate, readValueTemplate } from './template.ts';

/** Why an entity is left out; goes on behind its name. */
export class Refusal extends Error {}

/** Topics that the account of the device may use. */
export interface Scope {
  mayRead(topic: string): boolean;
  mayWrite(topic: string): boolean;
}

const FILTER = /^(?:[^+#/]*|\+)(?:\/(?:[^+#/]*|\+))*(?:\/#)?$/;
const NO_VALUES: ReadonlySet<string> = new Set([
  '',
  'None',
  'none',
  'null',
  'unknown',
  'unavailable',
  'nan',
  'NaN',
]);

export class EntityBuilder {
  readonly base: string;
  readonly displayName: string;
  readonly config: Config;
  readonly component: string;
  readonly #scope: Scope;
  readonly made: Interpreted = {
    attributes: [],
    readings: [],
    commands: [],
    availabilities: [],
    leftOut: [],
  };

  constructor({ component, objectId, config }: Entity, base: string, displayName: string, scope: Scope) {
    this.component = component;
    this.base = base;
    this.config = config;
    this.displayName = displayName === '' ? objectId : displayName;
    this.#scope = scope;
  }

  text(key: string): string | undefined {
    const value = this.config[key];
    if (typeof value === 'string') return value;
    if (typeof value === 'boolean') return value ? 'True' : 'False';
    return typeof value === 'number' ? String(value) : undefined;
  }

  number(key: string, fallback: number): number {
    const value = Number(this.config[key] ?? fallback);
    return Number.isFinite(value) ? value : fallback;
  }

  texts(key: string): string[] {
    const value = this.config[key];
    return Array.isArray(value) ? [...new Set(value.map(String))] : [];
  }

  /** @throws Refusal for a topic that is there and not the account's */
  topic(key: string, direction: 'mayRead' | 'mayWrite'): string | undefined {
    const topic = this.text(key);
    if (topic === undefined || topic === '') return undefined;
    const isAllowed = direction === 'mayRead' ? this.#mayRead(topic) : this.#scope.mayWrite(topic);
    if (!isAllowed || (direction === 'mayWrite' && hasWildcard(topic)))
      throw new Refusal(`its ${key} "${topic}" is outside the topics of its account`);
    return topic;
  }

  /** Wildcards are harmless: they find messages of the account only (OpenMQTTGateway: `+/+/BTtoMQTT/…`). */
  #mayRead(topic: string): boolean {
    return hasWildcard(topic) ? FILTER.test(topic) : this.#scope.mayRead(topic);
  }

  requireTopic(key: string, direction: 'mayRead' | 'mayWrite'): string {
    const topic = this.topic(key, direction);
    if (topic === undefined) throw new Refusal(`it has no ${key}`);
    return topic;
  }

  /** An attribute that is read from a topic; nothing when the topic is not announced. */
  attribute(
    suffix: string,
    topicKey: string,
    templateKey: string,
    declared: Omit<Attribute, 'name' | 'displayName'>,
    convert: Convert,
    more: Pick<Reading, 'offAfterMs'> = {},
  ): void {
    const topic = this.topic(topicKey, 'mayRead');
    if (topic === undefined) return;
    const read = this.value(templateKey);
    const name = maySlug(this.base, suffix);
    const displayName =
      suffix === '' ? this.displayName : `${this.displayName}: ${suffix.replaceAll('_', ' ')}`;
    this.made.attributes.push({ name, displayName, ...declared });
    const reading = { attribute: name, topic, read: withConversion(read, convert, declared.type) };
    this.made.readings.push({ ...reading, ...more });
  }

  /** A command that publishes to a topic; nothing when the topic is not announced. */
  command(
    name: string,
    displayName: string,
    topicKey: string,
    argument: Argument | undefined,
    write: (value: unknown) => string | undefined,
  ): void {
    const topic = this.topic(topicKey, 'mayWrite');
    if (topic === undefined) return;
    this.made.commands.push({ name, displayName, topic, write, ...(argument && { argument }) });
  }

  /** The result of a template for a message; the message itself without a template. @throws Refusal */
  value(templateKey: string): ReturnType<typeof readValueTemplate> {
    const template = this.text(templateKey);
    if (template === undefined || template === '') return (payload) => payload;
    return this.#judged(templateKey, () => readValueTemplate(template));
  }

  /** The message for a value. @throws Refusal */
  message(templateKey: string): (value: string | number) => string | undefined {
    const template = this.text(templateKey);
    if (template === undefined || template === '') return (value) => String(value);
    const read = this.#judged(templateKey, () =>
      readTemplate(template, ['value', 'position', 'tilt_position']),
    );
    return (value) => {
      const message = read.render({ value, position: value, tilt_position: value });
      return message instanceof NoNumber ? undefined : message;
    };
  }

  /** @throws Refusal */
  takeAvailability(): void {
    const { availability } = this.config;
    const list = Array.isArray(availability) ? availability : [];
    const topics = list.flatMap((one: unknown) =>
      this.#availabilityOf(one as Config, 'topic', 'value_template'),
    );
    if (topics.length === 0)
      topics.push(...this.#availabilityOf(this.config, 'availability_topic', 'availability_template'));
    if (topics.length === 0) return;
    const mode = this.text('availability_mode');
    const known: Availability['mode'] = mode === 'all' || mode === 'any' ? mode : 'latest';
    this.made.availabilities.push({ topics, mode: known });
  }

  #availabilityOf(config: Config, topicKey: string, templateKey: string): AvailabilityTopic[] {
    const { [topicKey]: topic, [templateKey]: template } = config;
    if (typeof topic !== 'string' || topic === '' || !this.#mayRead(topic)) return [];
    const wordOf = (key: string, fallback: string): string => textOfPayload(config[key]) ?? fallback;
    const available = wordOf('payload_available', 'online');
    const gone = wordOf('payload_not_available', 'offline');
    const read =
      typeof template === 'string'
        ? this.#judged(templateKey.replace(/^value/, 'availability value'), () => readValueTemplate(template))
        : (payload: string) => payload;
    return [
      {
        topic,
        read: (payload) => {
          const word = read(payload);
          if (word === available) return true;
          return word === gone ? false : undefined;
        },
      },
    ];
  }

  #judged<Result>(key: string, read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      if (error instanceof TemplateFault) throw new Refusal(`its ${key} ${error.message}`);
      throw error;
    }
  }
}

/** Payloads are compared as text; `true` of JSON is what a template writes for it. */
export function textOfPayload(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** Null: the message has no such value. Undefined: the text is none of the values that the attribute can have. */
type Convert = (text: string) => string | number | boolean | null | undefined;

/**
 * A value that is none of the declared ones is passed on as it came, so that the log of the device says why it was
 * dropped.
 */
function withConversion(
  read: ReturnType<typeof readValueTemplate>,
  convert: Convert,
  type: Attribute['type'],
): Reading['read'] {
  return (payload) => {
    const said = read(payload);
    if (said instanceof NoNumber) return type === 'string' ? undefined : said.value;
    if (said === undefined || NO_VALUES.has(said)) return undefined;
    const value = convert(said);
    return value === undefined ? plainOf(said) : (value ?? undefined);
  };
}

/** A list or an object is named as such in the log. */
function plainOf(text: string): unknown {
  try {
    return /^[[{]/.test(text) ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}

// Values of entities: numbers, words for two states, bounds.

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Undefined for a text that is no finite number. */
export function numberOf(text: string): number | undefined {
  const plain = text.trim();
  const value = Number(plain);
  return NUMBER.test(plain) && Number.isFinite(value) ? value : undefined;
}

/** The words that an entity has for on and off. */
export function wordsOf(
  entity: EntityBuilder,
  onKey: string,
  offKey: string,
  on: string,
  off: string,
): { on: string; off: string } {
  return { on: entity.text(onKey) ?? on, off: entity.text(offKey) ?? off };
}

/** @throws Refusal for bounds that contradict each other */
export function numericArgument(
  entity: EntityBuilder,
  keys: { min: string; max: string },
  [min, max]: readonly [number, number],
): Argument {
  const given = { min: entity.number(keys.min, min), max: entity.number(keys.max, max) };
  if (given.min > given.max) throw new Refusal(`its ${keys.min} is greater than its ${keys.max}`);
  // EMS-ESP announces thermostats without known bounds from 0 to 0.
  const bounds = given.min === given.max ? { min, max } : given;
  const unit = entity.text('unit_of_measurement');
  const code = unit === undefined ? undefined : unitOf(unit);
  return {
    name: 'value',
    displayName: unit === undefined || unit === '' ? 'Value' : `Value in ${unit}`,
    type: 'float',
    ...bounds,
    ...(code !== undefined && { unit: code }),
  };
}

// Units of announcements as the units of manifests (docs/interface/blueprints.md#units). Data.

const UNITS: Readonly<Record<string, string>> = {
  '°C': 'Cel',
  C: 'Cel',
  '°F': '[degF]',
  F: '[degF]',
  K: 'K',
  '%': '%',
  W: 'W',
  kW: 'kW',
  MW: 'MW',
  Wh: 'Wh',
  kWh: 'kWh',
  MWh: 'MWh',
  VA: 'VA',
  kVA: 'kVA',
  var: 'VAR',
  VAR: 'VAR',
  VAr: 'VAR',
  kvar: 'kVAR',
  V: 'V',
  mV: 'mV',
  kV: 'kV',
  A: 'A',
  mA: 'mA',
  Ah: 'Ah',
  Hz: 'Hz',
  kHz: 'kHz',
  Pa: 'Pa',
  hPa: 'hPa',
  kPa: 'kPa',
  mbar: 'mbar',
  bar: 'bar',
  lx: 'lx',
  lux: 'lx',
  Lux: 'lx',
  ppm: '[ppm]',
  ppb: '[ppb]',
  dB: 'dB',
  dBm: 'dBm',
  s: 's',
  ms: 'ms',
  min: 'min',
  h: 'h',
  d: 'd',
  m: 'm',
  km: 'km',
  cm: 'cm',
  mm: 'mm',
  kg: 'kg',
  g: 'g',
  L: 'L',
  l: 'L',
  mL: 'mL',
  'm³': 'm3',
  m3: 'm3',
  'm³/h': 'm3/h',
  'L/min': 'L/min',
  'L/h': 'L/h',
  'm/s': 'm/s',
  'km/h': 'km/h',
  'mm/h': 'mm/h',
  'W/m²': 'W/m2',
  'W/m2': 'W/m2',
  'µg/m³': 'ug/m3',
  'μg/m³': 'ug/m3',
  'mg/m³': 'mg/m3',
  '°': 'deg',
  rpm: 'rpm',
  Ohm: 'Ohm',
  Ω: 'Ohm',
  'µS/cm': 'uS/cm',
  B: 'B',
};

/** The unit in a manifest; undefined for one that has no code there. */
export function unitOf(announced: string): string | undefined {
  const unit = announced.trim();
  return Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
}

/** Beyond units, what makes a sensor a number. */
export const NUMERIC_CLASSES: ReadonlySet<string> = new Set(
  'apparent_power aqi area atmospheric_pressure battery blood_glucose_concentration carbon_dioxide carbon_monoxide conductivity current data_rate data_size distance duration energy energy_distance energy_storage frequency gas humidity illuminance irradiance moisture monetary nitrogen_dioxide nitrogen_monoxide nitrous_oxide ozone ph pm1 pm10 pm25 power power_factor precipitation precipitation_intensity pressure reactive_energy reactive_power signal_strength sound_pressure speed sulphur_dioxide temperature volatile_organic_compounds volatile_organic_compounds_parts voltage volume volume_flow_rate volume_storage water weight wind_direction wind_speed'.split(
    ' ',
  ),
);
