/** Names of attributes and commands from what devices call their entities. */
import type { Entity } from './announcement.ts';

/** Names that telemetry has for something else; `status` would need declared values. */
const RESERVED: ReadonlySet<string> = new Set([
  'alerts',
  'alert_details',
  'timestamp',
  'status',
  'not_configured',
]);
const LENGTH_MAX = 64;

function slugOf(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replaceAll('ß', 'ss');
  return plain
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|(?<!_)_+$/g, '')
    .slice(0, LENGTH_MAX);
}

/** A name with what it is about behind it. */
export const maySlug = (base: string, suffix: string): string =>
  suffix === '' ? base : `${base}_${suffix}`.slice(0, LENGTH_MAX);

/**
 * Names of all entities of a device, by their place. The id of an entity stays when people rename it; what it repeats of
 * its device is left out.
 */
export function baseNames(entities: readonly Entity[]): string[] {
  const taken = new Set<string>();
  return entities.map((entity) => {
    const wanted = nameOf(entity);
    let name = wanted;
    for (let count = 2; taken.has(name) || RESERVED.has(name); count++)
      name = RESERVED.has(wanted) && count === 2 ? `${wanted}_value` : `${wanted}_${count}`;
    taken.add(name);
    return name;
  });
}

const plainText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

const IS_NAME = /^[a-z][a-z0-9_]*$/;

function nameOf({ component, objectId, config, device, deviceKey }: Entity): string {
  const own = [
    deviceKey,
    device['name'],
    device['serial_number'],
    device['model'],
    deviceKey.split(/[_-]/).at(-1),
  ];
  const prefixes = own.map((text) => slugOf(plainText(text))).filter((text) => text.length > 2);
  let name = slugOf(objectId);
  for (const prefix of prefixes.toSorted((a, b) => b.length - a.length)) {
    if (name.startsWith(`${prefix}_`)) name = name.slice(prefix.length + 1);
    else if (name.endsWith(`_${prefix}`)) name = name.slice(0, -prefix.length - 1);
  }
  const isOpaque = (text: string): boolean =>
    text.length < 3 || !IS_NAME.test(text) || prefixes.includes(text) || /^(0x)?[0-9a-f_]{6,}$/.test(text);
  if (!isOpaque(name)) return name;
  const named = slugOf(plainText(config['name'] ?? config['device_class']));
  if (IS_NAME.test(named)) return named;
  return IS_NAME.test(component) && name === '' ? component : `${component}_${name}`.slice(0, LENGTH_MAX);
}

/** For people. */
export function displayNameOf({ component, objectId, config, device }: Entity): string {
  const { name, device_class: deviceClass } = config;
  const given = typeof name === 'string' && name.trim() !== '' ? name : undefined;
  const deviceName = typeof device['name'] === 'string' ? device['name'] : '';
  const short =
    given !== undefined && deviceName !== '' && given.startsWith(`${deviceName} `)
      ? given.slice(deviceName.length + 1)
      : given;
  const fallback = typeof deviceClass === 'string' ? deviceClass : component;
  const text = short ?? (objectId.length < 24 && /[a-z]{3}/i.test(objectId) ? objectId : fallback);
  const spaced = text.replaceAll('_', ' ').trim();
  return `${spaced.slice(0, 1).toUpperCase()}${spaced.slice(1, 100)}`;
}
