/**
 * Home Assistant finds the devices of the site by itself: retained configurations of its MQTT discovery, one for each
 * attribute, and the newest value of each attribute as its state.
 * Source: the MQTT integration of Home Assistant, "MQTT discovery".
 */
import type { EpochS } from '../../../lib/time.ts';
import { exactJson } from '../../../lib/json.ts';
import type { MqttMessage } from '../../../platform/mqtt-client/index.ts';
import type { CompiledAttribute, CompiledManifest } from '../../blueprints/index.ts';
import type { Device } from '../../devices/index.ts';
import type { Latest } from '../../telemetry/index.ts';
import type { LabelledSamples, MqttSettings } from '../model.ts';
import { jsonValue } from '../sample-text.ts';
import { type SampleMessage, topicLevel } from './plain-messages.ts';

/** Classes of sensors by the unit of the manifest, and how Home Assistant writes the unit. */
const CLASSES: Readonly<Record<string, { deviceClass: string; unit?: string }>> = {
  W: { deviceClass: 'power' },
  kW: { deviceClass: 'power' },
  MW: { deviceClass: 'power' },
  Wh: { deviceClass: 'energy' },
  kWh: { deviceClass: 'energy' },
  MWh: { deviceClass: 'energy' },
  V: { deviceClass: 'voltage' },
  mV: { deviceClass: 'voltage' },
  A: { deviceClass: 'current' },
  mA: { deviceClass: 'current' },
  Hz: { deviceClass: 'frequency' },
  VA: { deviceClass: 'apparent_power' },
  Cel: { deviceClass: 'temperature', unit: '°C' },
  bar: { deviceClass: 'pressure' },
  kPa: { deviceClass: 'pressure' },
  Pa: { deviceClass: 'pressure' },
};

const NUMBERS = new Set(['float', 'integer']);

export const gatewayAvailabilityTopic = (settings: MqttSettings, site: string): string =>
  `${settings.topic}/${topicLevel(site)}/availability`;

/** The will: it tells Home Assistant that the gateway is gone. */
export function willOf(settings: MqttSettings, site: string): MqttMessage | undefined {
  if (settings.form !== 'HOME_ASSISTANT') return undefined;
  return { topic: gatewayAvailabilityTopic(settings, site), payload: 'offline', isRetained: true };
}

const baseTopic = (settings: MqttSettings, site: string, device: string): string =>
  `${settings.topic}/${topicLevel(site)}/${topicLevel(device)}`;

export function availabilityMessage(
  settings: MqttSettings,
  site: string,
  device: Pick<Device, 'slug'>,
  isOnline: boolean,
): MqttMessage {
  return {
    topic: `${baseTopic(settings, site, device.slug)}/availability`,
    payload: isOnline ? 'online' : 'offline',
    isRetained: true,
  };
}

/** Discovery messages for the attributes that the manifest of a device declares. */
export function discoveryMessages(
  settings: MqttSettings,
  site: string,
  device: Pick<Device, 'id' | 'slug' | 'name'>,
  manifest: Pick<CompiledManifest, 'display_name' | 'telemetry'>,
): { message: MqttMessage; stateTopic: string }[] {
  const base = baseTopic(settings, site, device.slug);
  const common = {
    availability: [{ topic: gatewayAvailabilityTopic(settings, site) }, { topic: `${base}/availability` }],
    availability_mode: 'all',
    device: { identifiers: [device.id], name: device.name, model: manifest.display_name },
    origin: { name: 'Energy gateway' },
  };
  return Object.entries(manifest.telemetry).map(([attribute, declared]) => {
    const isBinary = declared.type === 'boolean' || declared.type === 'alerts';
    const objectId = `${device.id}_${attribute}`.replaceAll(/[^A-Za-z0-9_-]/g, '_');
    const stateTopic = `${base}/${topicLevel(attribute)}`;
    const config = {
      name: declared.display_name,
      unique_id: objectId,
      state_topic: stateTopic,
      ...(isBinary ? binaryConfig(declared) : sensorConfig(declared)),
      ...common,
    };
    const topic = `${settings.discoveryPrefix}/${isBinary ? 'binary_sensor' : 'sensor'}/${objectId}/config`;
    return { message: { topic, payload: JSON.stringify(config), isRetained: true }, stateTopic };
  });
}

function binaryConfig({ type }: CompiledAttribute): object {
  if (type === 'boolean') return { payload_on: 'true', payload_off: 'false' };
  return {
    device_class: 'problem',
    value_template: "{{ 'ON' if value_json | length > 0 else 'OFF' }}",
  };
}

function sensorConfig({ type, unit }: CompiledAttribute): object {
  // Home Assistant takes states of at most 255 characters.
  if (!NUMBERS.has(type))
    return { value_template: `{{ ${type === 'string' ? 'value_json' : 'value'}[:255] }}` };
  const known = unit === undefined ? undefined : CLASSES[unit];
  return {
    ...(unit !== undefined && { unit_of_measurement: known?.unit ?? unit }),
    ...(known && { device_class: known.deviceClass }),
    // Energy counters may restart with a new meter.
    state_class: known?.deviceClass === 'energy' ? 'total_increasing' : 'measurement',
  };
}

/** The last published state of an attribute. */
export interface State {
  /** Older samples come too late. */
  timestampS: EpochS;
  /** Published with the announcement of the device: the sample itself, which follows, need not be published again. */
  payload?: string;
}

/**
 * The latest states of a device, for a broker that may have none of them.
 * @param published is filled with them
 */
export function* latestStates(
  settings: MqttSettings,
  {
    site,
    device,
    values,
  }: {
    site: string;
    device: Pick<Device, 'id' | 'slug'>;
    values: readonly { attribute: string; timestampS: EpochS; value: Latest['value'] }[];
  },
  published: Map<string, State>,
): Generator<MqttMessage> {
  for (const { attribute, timestampS, value } of values) {
    const payload = exactJson(value);
    published.set(`${device.id} ${attribute}`, { timestampS, payload });
    const topic = `${baseTopic(settings, site, device.slug)}/${topicLevel(attribute)}`;
    yield { topic, payload, isRetained: true };
  }
}

/**
 * The newest value of each attribute, because a state in Home Assistant has no history.
 * @param published by device and attribute
 * @param currentToS later samples come from a clock that was wrong: they are no states, and make no other sample late
 */
export function* stateMessages(
  settings: MqttSettings,
  series: readonly LabelledSamples[],
  published: Map<string, State>,
  currentToS: EpochS,
): Generator<SampleMessage> {
  const newest = new Map<string, { samples: LabelledSamples; index: number; timestampS: EpochS }>();
  const counts = new Map<string, number>();
  for (const samples of series) {
    const key = `${samples.deviceId} ${samples.attribute}`;
    counts.set(key, (counts.get(key) ?? 0) + samples.times.length);
    const index = samples.times.findLastIndex((timestampS) => timestampS <= currentToS);
    const timestampS = samples.times[index];
    if (timestampS === undefined || timestampS < (newest.get(key)?.timestampS ?? 0)) continue;
    newest.set(key, { samples, index, timestampS });
  }
  for (const [key, { samples, index, timestampS }] of newest) {
    const { labels, attribute } = samples;
    const known = published.get(key);
    const publishedS = known?.timestampS ?? 0;
    if (timestampS < publishedS && publishedS <= currentToS) continue;
    const payload = jsonValue(samples, index);
    if (known?.timestampS === timestampS && known.payload === payload) continue;
    published.set(key, { timestampS });
    yield {
      topic: `${baseTopic(settings, labels.site, labels.device)}/${topicLevel(attribute)}`,
      payload,
      isRetained: true,
      samples: counts.get(key) ?? 0,
    };
  }
}
