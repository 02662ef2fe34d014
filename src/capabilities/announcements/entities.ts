/** Parts that each kind of entity gives to a device: attributes, and commands with their bounds. */
import type { Entity } from './announcement.ts';
import {
  EntityBuilder,
  numberOf,
  NUMERIC_CLASSES,
  numericArgument,
  Refusal,
  type Scope,
  textOfPayload,
  unitOf,
  wordsOf,
} from './entity-builder.ts';
import { CLIMATE_KINDS } from './climate-entities.ts';
import type { Interpreted } from './model.ts';
import { baseNames, displayNameOf } from './names.ts';

type Kind = (entity: EntityBuilder) => void;

/** Interprets all entities of one device. */
export function interpret(entities: readonly Entity[], scope: Scope): Interpreted {
  const all: Interpreted = { attributes: [], readings: [], commands: [], availabilities: [], leftOut: [] };
  const names = baseNames(entities);
  for (const [index, entity] of entities.entries()) {
    const displayName = displayNameOf(entity);
    const builder = new EntityBuilder(entity, names[index] ?? entity.component, displayName, scope);
    try {
      takeEntity(builder);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      all.leftOut.push(`"${displayName}" (${entity.component}) is left out: ${error.message}.`);
      continue;
    }
    for (const key of Object.keys(all) as (keyof Interpreted)[])
      (all[key] as unknown[]).push(...builder.made[key]);
  }
  return withoutRepeats(all);
}

/** Two entities may be about one value: the first counts. */
function withoutRepeats(all: Interpreted): Interpreted {
  const firstOf = <Item extends { name: string }>(items: Item[]): Item[] =>
    [...new Map(items.toReversed().map((item) => [item.name, item])).values()].toReversed();
  return { ...all, attributes: firstOf(all.attributes), commands: firstOf(all.commands) };
}

function takeEntity(entity: EntityBuilder): void {
  const kind = KINDS[entity.component];
  if (!kind) throw new Refusal(`the gateway has no use for "${entity.component}"`);
  const { encoding } = entity.config;
  if (encoding !== undefined && encoding !== 'utf-8')
    throw new Refusal(`its encoding "${entity.text('encoding') ?? ''}" is not supported`);
  kind(entity);
  if (entity.made.attributes.length === 0 && entity.made.commands.length === 0)
    throw new Refusal('it has neither a state nor a command topic');
  entity.takeAvailability();
}

function sensor(entity: EntityBuilder): void {
  entity.requireTopic('state_topic', 'mayRead');
  const deviceClass = entity.text('device_class');
  const unit = entity.text('unit_of_measurement');
  const stateClass = entity.text('state_class');
  const facts = {
    ...(deviceClass !== undefined && { deviceClass }),
    ...(stateClass !== undefined && { stateClass }),
  };
  const isNumber =
    deviceClass !== 'enum' &&
    ((unit !== undefined && unit !== '') ||
      stateClass !== undefined ||
      NUMERIC_CLASSES.has(deviceClass ?? ''));
  if (!isNumber) {
    const options = entity.texts('options');
    const declared = { type: 'string' as const, ...(options.length > 0 && { enum: options }), ...facts };
    return entity.attribute('', 'state_topic', 'value_template', declared, (text) => text);
  }
  entity.attribute(
    '',
    'state_topic',
    'value_template',
    { type: 'float', ...unitFacts(unit), ...facts },
    numberOf,
  );
}

function unitFacts(unit: string | undefined): { unit?: string; isOwnUnit?: boolean } {
  if (unit === undefined || unit.trim() === '') return {};
  const code = unitOf(unit);
  return code === undefined ? { unit: unit.trim(), isOwnUnit: true } : { unit: code };
}

function binarySensor(entity: EntityBuilder): void {
  entity.requireTopic('state_topic', 'mayRead');
  stateOfTwo(entity, 'payload_on', 'payload_off');
}

/** One day; timers of the runtime hold 24. */
const OFF_DELAY_S_MAX = 86_400;

/** A boolean by two words. */
function stateOfTwo(entity: EntityBuilder, onKey: string, offKey: string, on = 'ON', off = 'OFF'): void {
  const words = wordsOf(entity, onKey, offKey, on, off);
  const deviceClass = entity.text('device_class');
  const template =
    entity.component === 'light' || entity.component === 'fan' ? 'state_value_template' : 'value_template';
  const declared = { type: 'boolean' as const, ...(deviceClass !== undefined && { deviceClass }) };
  const offAfterS = entity.number('off_delay', 0);
  const convert = (text: string): boolean | undefined => {
    if (text === words.on) return true;
    return text === words.off ? false : undefined;
  };
  const more = offAfterS > 0 ? { offAfterMs: Math.min(offAfterS, OFF_DELAY_S_MAX) * 1_000 } : {};
  entity.attribute('', 'state_topic', template, declared, convert, more);
}

/** A command with a boolean, by two words. */
function commandOfTwo(
  entity: EntityBuilder,
  onKey = 'payload_on',
  offKey = 'payload_off',
  on = 'ON',
  off = 'OFF',
): void {
  const words = { on: entity.text(onKey) ?? on, off: entity.text(offKey) ?? off };
  const write = entity.message('command_template');
  const argument = { name: 'on', displayName: 'On', type: 'boolean' as const };
  entity.command(`set_${entity.base}`, `Switch ${entity.displayName}`, 'command_topic', argument, (value) =>
    write(value === true ? words.on : words.off),
  );
}

function switchOf(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const [onKey, offKey] = ['state_on', 'state_off'].map((key, index) =>
    entity.config[key] === undefined ? ['payload_on', 'payload_off'][index] : key,
  );
  stateOfTwo(entity, onKey ?? '', offKey ?? '');
  commandOfTwo(entity);
}

function numberEntity(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const unit = unitFacts(entity.text('unit_of_measurement'));
  entity.attribute('', 'state_topic', 'value_template', { type: 'float', ...unit }, numberOf);
  const argument = numericArgument(entity, { min: 'min', max: 'max' }, [1, 100]);
  const write = entity.message('command_template');
  entity.command(`set_${entity.base}`, `Set ${entity.displayName}`, 'command_topic', argument, (value) =>
    write(value as number),
  );
}

function select(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const options = entity.texts('options');
  if (options.length === 0) throw new Refusal('it has no options');
  entity.attribute('', 'state_topic', 'value_template', { type: 'string', enum: options }, (text) => text);
  const write = entity.message('command_template');
  const argument = { name: 'option', displayName: 'Option', type: 'string' as const, enum: options };
  entity.command(`set_${entity.base}`, `Select ${entity.displayName}`, 'command_topic', argument, (value) =>
    write(String(value)),
  );
}

function text(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const isSensitive = entity.text('mode') === 'password';
  if (!isSensitive)
    entity.attribute('', 'state_topic', 'value_template', { type: 'string' }, (value) => value);
  const write = entity.message('command_template');
  const argument = { name: 'text', displayName: 'Text', type: 'string' as const, isSensitive };
  entity.command(`set_${entity.base}`, `Set ${entity.displayName}`, 'command_topic', argument, (value) =>
    write(String(value)),
  );
}

function button(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const isScene = entity.component === 'scene';
  const payload =
    textOfPayload(entity.config[isScene ? 'payload_on' : 'payload_press']) ?? (isScene ? 'ON' : 'PRESS');
  const write = entity.message('command_template');
  entity.command(`press_${entity.base}`, entity.displayName, 'command_topic', undefined, () =>
    write(payload),
  );
}

function light(entity: EntityBuilder): void {
  const schema = entity.text('schema') ?? 'basic';
  if (schema === 'template') throw new Refusal('its schema "template" is not supported');
  entity.requireTopic('command_topic', 'mayWrite');
  if (schema === 'json') return jsonLight(entity);
  const [on, off] = [entity.text('payload_on') ?? 'ON', entity.text('payload_off') ?? 'OFF'];
  stateOfTwo(entity, 'payload_on', 'payload_off', on, off);
  commandOfTwo(entity);
  const scale = entity.number('brightness_scale', 255);
  const share = { type: 'float' as const, unit: '%' };
  entity.attribute(
    'brightness',
    'brightness_state_topic',
    'brightness_value_template',
    share,
    percentOf(scale),
  );
  const brightness = entity.message('brightness_command_template');
  entity.command(
    `set_${entity.base}_brightness`,
    `Brightness of ${entity.displayName}`,
    'brightness_command_topic',
    PERCENT,
    (value) => brightness(Math.round(((value as number) / 100) * scale)),
  );
  const colour = entity.message('color_temp_command_template');
  const range = numericArgument(entity, { min: 'min_mireds', max: 'max_mireds' }, [153, 500]);
  entity.command(
    `set_${entity.base}_color_temp`,
    `Colour temperature of ${entity.displayName}`,
    'color_temp_command_topic',
    range,
    (value) => colour(value as number),
  );
  const effects = entity.texts('effect_list');
  const effect = entity.message('effect_command_template');
  if (effects.length > 0)
    entity.command(
      `set_${entity.base}_effect`,
      `Effect of ${entity.displayName}`,
      'effect_command_topic',
      { name: 'option', displayName: 'Effect', type: 'string', enum: effects },
      (value) => effect(String(value)),
    );
}

const PERCENT = { name: 'value', displayName: 'Value', type: 'float' as const, min: 0, max: 100, unit: '%' };

const percentOf = (scale: number) => (value: string) => {
  const read = numberOf(value);
  return read === undefined ? undefined : Math.round((read / scale) * 1_000) / 10;
};

function jsonLight(entity: EntityBuilder): void {
  const member = (name: string) => (payload: string) => {
    try {
      return (JSON.parse(payload) as Record<string, unknown> | null)?.[name];
    } catch {
      return undefined;
    }
  };
  const scale = entity.number('brightness_scale', 255);
  entity.attribute('', 'state_topic', '', { type: 'boolean' }, (payload) => {
    const state = member('state')(payload);
    return state === 'ON' ? true : state === 'OFF' ? false : null;
  });
  const argument = { name: 'on', displayName: 'On', type: 'boolean' as const };
  entity.command(`set_${entity.base}`, `Switch ${entity.displayName}`, 'command_topic', argument, (value) =>
    JSON.stringify({ state: value === true ? 'ON' : 'OFF' }),
  );
  const modes = entity.texts('supported_color_modes');
  const hasBrightness = entity.config['brightness'] === true || modes.some((mode) => mode !== 'onoff');
  if (hasBrightness) {
    entity.attribute(
      'brightness',
      'state_topic',
      '',
      { type: 'float', unit: '%' },
      (payload) => percentOf(scale)(textOfPayload(member('brightness')(payload)) ?? '') ?? null,
    );
    entity.command(
      `set_${entity.base}_brightness`,
      `Brightness of ${entity.displayName}`,
      'command_topic',
      PERCENT,
      (value) => JSON.stringify({ state: 'ON', brightness: Math.round(((value as number) / 100) * scale) }),
    );
  }
  if (entity.config['color_temp'] !== true && !modes.includes('color_temp')) return;
  const range = numericArgument(entity, { min: 'min_mireds', max: 'max_mireds' }, [153, 500]);
  entity.attribute(
    'color_temp',
    'state_topic',
    '',
    { type: 'float' },
    (payload) => numberOf(textOfPayload(member('color_temp')(payload)) ?? '') ?? null,
  );
  entity.command(
    `set_${entity.base}_color_temp`,
    `Colour temperature of ${entity.displayName}`,
    'command_topic',
    range,
    (value) => JSON.stringify({ state: 'ON', color_temp: value }),
  );
}

function lock(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const [locked, unlocked] = [
    entity.text('state_locked') ?? 'LOCKED',
    entity.text('state_unlocked') ?? 'UNLOCKED',
  ];
  entity.attribute(
    '',
    'state_topic',
    'value_template',
    { type: 'boolean', description: 'True: locked.' },
    (word) => (word === locked ? true : word === unlocked ? false : undefined),
  );
  const write = entity.message('command_template');
  for (const [name, key, fallback] of [
    ['lock', 'payload_lock', 'LOCK'],
    ['unlock', 'payload_unlock', 'UNLOCK'],
  ] as const)
    entity.command(
      `${name}_${entity.base}`,
      `${name === 'lock' ? 'Lock' : 'Unlock'} ${entity.displayName}`,
      'command_topic',
      undefined,
      () => write(entity.text(key) ?? fallback),
    );
}

function update(entity: EntityBuilder): void {
  entity.requireTopic('state_topic', 'mayRead');
  const template = entity.text('value_template');
  if (template === undefined) {
    entity.attribute('', 'state_topic', '', { type: 'string' }, (payload) => {
      try {
        const { installed_version: version } = JSON.parse(payload) as Record<string, unknown>;
        return typeof version === 'string' ? version : null;
      } catch {
        return payload;
      }
    });
  } else entity.attribute('', 'state_topic', 'value_template', { type: 'string' }, (value) => value);
}

const plainState: Kind = (entity) => {
  entity.requireTopic('state_topic', 'mayRead');
  entity.attribute('', 'state_topic', 'value_template', { type: 'string' }, (value) => value);
};

const KINDS: Readonly<Record<string, Kind>> = {
  sensor,
  binary_sensor: binarySensor,
  switch: switchOf,
  siren: switchOf,
  number: numberEntity,
  select,
  text,
  button,
  scene: button,
  light,
  lock,
  update,
  device_tracker: plainState,
  ...CLIMATE_KINDS,
};
