/** Entities of several topics: covers, valves, climates, fans, humidifiers, water heaters. */
import { type EntityBuilder, numberOf, numericArgument, wordsOf } from './entity-builder.ts';

function cover(entity: EntityBuilder): void {
  const states = ['open', 'opening', 'closed', 'closing', 'stopped'] as const;
  const words = new Map(states.map((state) => [entity.text(`state_${state}`) ?? state, state]));
  const template =
    entity.component === 'cover' && entity.text('state_topic') === undefined ? '' : 'value_template';
  entity.attribute('', 'state_topic', template, { type: 'string', enum: states }, (word) => words.get(word));
  const [open, closed] = [entity.number('position_open', 100), entity.number('position_closed', 0)];
  const share = { type: 'float' as const, unit: '%' };
  const toShare = (text: string): number | undefined => {
    const position = numberOf(text);
    return position === undefined
      ? undefined
      : Math.round(((position - closed) / (open - closed)) * 1_000) / 10;
  };
  entity.attribute('position', 'position_topic', 'position_template', share, toShare);
  const write = entity.message('command_template');
  for (const [name, title, fallback] of [
    ['open', 'Open', 'OPEN'],
    ['close', 'Close', 'CLOSE'],
    ['stop', 'Stop', 'STOP'],
  ] as const) {
    const { [`payload_${name}`]: payload } = entity.config;
    // Null: the device has no such command.
    if (payload !== null)
      entity.command(
        `${name}_${entity.base}`,
        `${title} ${entity.displayName}`,
        'command_topic',
        undefined,
        () => write(entity.text(`payload_${name}`) ?? fallback),
      );
  }
  const position = entity.message('set_position_template');
  entity.command(
    `set_${entity.base}_position`,
    `Position of ${entity.displayName}`,
    'set_position_topic',
    PERCENT,
    (value) => position(Math.round(closed + ((value as number) / 100) * (open - closed))),
  );
  const tilt = entity.message('tilt_command_template');
  entity.attribute('tilt', 'tilt_status_topic', 'tilt_status_template', { type: 'float' }, numberOf);
  const range = numericArgument(entity, { min: 'tilt_min', max: 'tilt_max' }, [0, 100]);
  entity.command(
    `set_${entity.base}_tilt`,
    `Tilt of ${entity.displayName}`,
    'tilt_command_topic',
    range,
    (value) => tilt(value as number),
  );
}

const PERCENT = { name: 'value', displayName: 'Value', type: 'float' as const, min: 0, max: 100, unit: '%' };

function climate(entity: EntityBuilder): void {
  const unit = entity.text('temperature_unit') === 'F' ? '[degF]' : 'Cel';
  const degrees = { type: 'float' as const, unit };
  entity.attribute(
    'current_temperature',
    'current_temperature_topic',
    'current_temperature_template',
    degrees,
    numberOf,
  );
  entity.attribute(
    'current_humidity',
    'current_humidity_topic',
    'current_humidity_template',
    { type: 'float', unit: '%' },
    numberOf,
  );
  entity.attribute('action', 'action_topic', 'action_template', { type: 'string' }, (word) => word);
  const bounds = numericArgument(
    entity,
    { min: 'min_temp', max: 'max_temp' },
    unit === 'Cel' ? [7, 35] : [45, 95],
  );
  for (const which of ['', '_low', '_high']) {
    const [state, stateTemplate] = [`temperature${which}_state_topic`, `temperature${which}_state_template`];
    entity.attribute(`target_temperature${which}`, state, stateTemplate, degrees, numberOf);
    const write = entity.message(`temperature${which}_command_template`);
    const argument = { ...bounds, displayName: 'Temperature', unit };
    const title = `${which === '' ? 'Temperature' : `Temperature, ${which.slice(1)},`} of ${entity.displayName}`;
    entity.command(
      `set_${entity.base}_temperature${which}`,
      title,
      `temperature${which}_command_topic`,
      argument,
      (value) => write(value as number),
    );
  }
  choice(entity, 'mode', 'modes', ['auto', 'off', 'cool', 'heat', 'dry', 'fan_only']);
  choice(entity, 'fan_mode', 'fan_modes', ['auto', 'low', 'medium', 'high']);
  choice(entity, 'swing_mode', 'swing_modes', ['on', 'off']);
  choice(entity, 'preset_mode', 'preset_modes', []);
  power(entity);
}

/** A mode out of several; without a list it is only shown. */
function choice(entity: EntityBuilder, key: string, listKey: string, fallback: readonly string[]): void {
  const announced = entity.texts(listKey);
  const options = announced.length > 0 ? announced : fallback;
  const template =
    entity.config[`${key}_state_template`] === undefined ? `${key}_value_template` : `${key}_state_template`;
  const shown = key === 'preset_mode' ? [...new Set(['none', ...options])] : options;
  const declared = { type: 'string' as const, ...(options.length > 0 && { enum: shown }) };
  entity.attribute(key, `${key}_state_topic`, template, declared, (word) => word);
  if (options.length === 0) return;
  const write = entity.message(`${key}_command_template`);
  const argument = { name: 'option', displayName: 'Option', type: 'string' as const, enum: options };
  const title = `${key.replaceAll('_', ' ')} of ${entity.displayName}`;
  const displayName = `${title.slice(0, 1).toUpperCase()}${title.slice(1)}`;
  entity.command(`set_${entity.base}_${key}`, displayName, `${key}_command_topic`, argument, (value) =>
    write(String(value)),
  );
}

function power(entity: EntityBuilder): void {
  const words = wordsOf(entity, 'payload_on', 'payload_off', 'ON', 'OFF');
  const write = entity.message('power_command_template');
  const argument = { name: 'on', displayName: 'On', type: 'boolean' as const };
  entity.command(
    `set_${entity.base}_power`,
    `Switch ${entity.displayName}`,
    'power_command_topic',
    argument,
    (value) => write(value === true ? words.on : words.off),
  );
}

/** Fans and humidifiers: on and off, and how much. */
function appliance(entity: EntityBuilder): void {
  entity.requireTopic('command_topic', 'mayWrite');
  const words = wordsOf(entity, 'payload_on', 'payload_off', 'ON', 'OFF');
  entity.attribute('', 'state_topic', 'state_value_template', { type: 'boolean' }, (word) =>
    word === words.on ? true : word === words.off ? false : undefined,
  );
  const write = entity.message('command_template');
  const argument = { name: 'on', displayName: 'On', type: 'boolean' as const };
  entity.command(`set_${entity.base}`, `Switch ${entity.displayName}`, 'command_topic', argument, (value) =>
    write(value === true ? words.on : words.off),
  );
  speed(entity);
  const humidity = { type: 'float' as const, unit: '%' };
  entity.attribute(
    'target_humidity',
    'target_humidity_state_topic',
    'target_humidity_state_template',
    humidity,
    numberOf,
  );
  entity.attribute(
    'current_humidity',
    'current_humidity_topic',
    'current_humidity_template',
    humidity,
    numberOf,
  );
  const target = entity.message('target_humidity_command_template');
  const bounds = numericArgument(entity, { min: 'min_humidity', max: 'max_humidity' }, [0, 100]);
  entity.command(
    `set_${entity.base}_humidity`,
    `Humidity of ${entity.displayName}`,
    'target_humidity_command_topic',
    bounds,
    (value) => target(value as number),
  );
  choice(entity, 'preset_mode', 'preset_modes', []);
  choice(entity, 'mode', 'modes', []);
}

function speed(entity: EntityBuilder): void {
  const [least, most] = [entity.number('speed_range_min', 1), entity.number('speed_range_max', 100)];
  entity.attribute(
    'speed',
    'percentage_state_topic',
    'percentage_value_template',
    { type: 'float', unit: '%' },
    (text) => {
      const step = numberOf(text);
      return step === undefined
        ? undefined
        : Math.round(((step - least + 1) / (most - least + 1)) * 1_000) / 10;
    },
  );
  const write = entity.message('percentage_command_template');
  entity.command(
    `set_${entity.base}_speed`,
    `Speed of ${entity.displayName}`,
    'percentage_command_topic',
    PERCENT,
    (value) => write(Math.ceil(least - 1 + ((value as number) / 100) * (most - least + 1))),
  );
}

export const CLIMATE_KINDS: Readonly<Record<string, (entity: EntityBuilder) => void>> = {
  cover,
  valve: cover,
  climate,
  water_heater: climate,
  fan: appliance,
  humidifier: appliance,
};
