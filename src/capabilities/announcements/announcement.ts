/**
 * Announcements as they are sent: below `homeassistant/{component}/[{node}/]{object}/config` one entity, below
 * `homeassistant/device/[{node}/]{object}/config` a device with all of its entities. Pure.
 */
import { DISCOVERY_PREFIX } from '../mqtt-guests/index.ts';
import { DEVICE_KEY_OF_SHORT, KEY_OF_SHORT } from './abbreviations.ts';

export type Config = Readonly<Record<string, unknown>>;

/** One entity with all keys by their long names. */
export interface Entity {
  component: string;
  /** Unique within its device. */
  objectId: string;
  config: Config;
  /** As it says about its device; empty for one that belongs to none. */
  device: Config;
  /** Key that groups the entities of one device. */
  deviceKey: string;
}

const TOPIC = new RegExp(`^${DISCOVERY_PREFIX}/([a-z_]+)/(?:([A-Za-z0-9_-]+)/)?([A-Za-z0-9_-]+)/config$`);

/** Whether this is the topic of an announcement. */
export const isAnnouncementTopic = (topic: string): boolean => TOPIC.test(topic);

/** @returns its entities, or what is wrong with it */
export function readAnnouncement(topic: string, payload: string): { entities: Entity[]; problem?: string } {
  const [, component = '', node, objectId = ''] = TOPIC.exec(topic) ?? [];
  let sent: unknown;
  try {
    sent = JSON.parse(payload);
  } catch {
    return { entities: [], problem: `The announcement on "${topic}" is no JSON.` };
  }
  if (!isObject(sent)) return { entities: [], problem: `The announcement on "${topic}" is no JSON object.` };
  const config = expanded(sent);
  const device = deviceOf(config);
  const key = deviceKeyOf(config, device, node ?? objectId);
  if (component !== 'device')
    return { entities: [{ component, objectId, config: based(config), device, deviceKey: key }] };
  const { components, device: _device, ...shared } = config;
  if (!isObject(components))
    return { entities: [], problem: `The announcement on "${topic}" has no components.` };
  const entities = Object.entries(components).flatMap(([id, own]): Entity[] => {
    const merged = isObject(own) ? { ...shared, ...expanded(own) } : {};
    const { platform } = merged as Config;
    if (typeof platform !== 'string' || Object.keys(own as object).length < 2) return [];
    return [{ component: platform, objectId: id, config: based(merged), device, deviceKey: key }];
  });
  return { entities };
}

function deviceOf({ device }: Config): Config {
  if (!isObject(device)) return {};
  return Object.fromEntries(
    Object.entries(device).map(([key, value]) => [DEVICE_KEY_OF_SHORT.get(key) ?? key, value]),
  );
}

function deviceKeyOf({ unique_id: uniqueId }: Config, device: Config, fallback: string): string {
  const ids = [device['identifiers']].flat().filter(isName).map(String);
  const connections = Array.isArray(device['connections'])
    ? device['connections'].map((pair: unknown) => (Array.isArray(pair) ? pair.join(' ') : ''))
    : [];
  const [first] = [...ids.toSorted(), ...connections.toSorted()].filter((id) => id !== '');
  return first ?? (Object.keys(device).length > 0 && isName(uniqueId) ? String(uniqueId) : fallback);
}

const isName = (value: unknown): value is string | number =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';

function expanded(config: Config): Record<string, unknown> {
  const long: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(config)) {
    const name = KEY_OF_SHORT.get(key) ?? key;
    long[name] =
      name === 'availability' && Array.isArray(value)
        ? value.map((one) => (isObject(one) ? expanded(one) : one))
        : value;
  }
  return long;
}

/** With `~`, the base of topics, put in. */
function based({ '~': base, ...config }: Record<string, unknown>): Config {
  if (typeof base !== 'string') return config;
  const put = (topic: string): string => {
    if (topic.startsWith('~')) return base + topic.slice(1);
    return topic.endsWith('~') ? topic.slice(0, -1) + base : topic;
  };
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => {
      if (typeof value === 'string' && key.endsWith('topic')) return [key, put(value)];
      if (key !== 'availability' || !Array.isArray(value)) return [key, value];
      return [key, value.map((one) => (isObject(one) ? based({ '~': base, ...one }) : one))];
    }),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
