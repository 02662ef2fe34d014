/** The manifest of a blueprint for an announced device. */
import type { Argument, Attribute, Proposal } from './model.ts';

/** Profiles that one attribute is enough for, by the class of the sensor. */
const PROFILES: readonly { deviceClass: string; unit: string; profile: string; member: string }[] = [
  { deviceClass: 'power', unit: 'W', profile: 'lib.energy.power_meter.power', member: 'total_power' },
  {
    deviceClass: 'energy',
    unit: 'Wh',
    profile: 'lib.energy.power_meter.energy.lifetime',
    member: 'energy_lifetime',
  },
  {
    deviceClass: 'temperature',
    unit: 'Cel',
    profile: 'lib.sensor.temperature.ambient',
    member: 'ambient_temperature',
  },
  {
    deviceClass: 'irradiance',
    unit: 'W/m2',
    profile: 'lib.sensor.solar_irradiance',
    member: 'solar_irradiance',
  },
];

/** Sensors of these classes tell what happens at the device, not around it. */
const NOT_AMBIENT: ReadonlySet<string> = new Set(['power', 'energy', 'voltage', 'current']);
const GROUP = 'controls';

type Described = Pick<Proposal, 'name' | 'manufacturer' | 'model' | 'attributes' | 'commands'>;

/** The factor from a unit as announced to that of its profile. */
const TO_PROFILE_UNIT: Readonly<Record<string, readonly [unit: string, factor: number]>> = {
  kW: ['W', 1e3],
  MW: ['W', 1e6],
  kWh: ['Wh', 1e3],
  MWh: ['Wh', 1e6],
};

/** Powers and amounts of energy in the units of profiles, and by how much their values are multiplied. */
export function withProfileUnits(attributes: readonly Attribute[]): {
  attributes: Attribute[];
  factors: ReadonlyMap<string, number>;
} {
  const factors = new Map<string, number>();
  const converted = attributes.map((attribute): Attribute => {
    const { deviceClass, unit = '' } = attribute;
    const isMeter = deviceClass === 'power' || deviceClass === 'energy';
    const [base, factor] = (isMeter && TO_PROFILE_UNIT[unit]) || [];
    if (base === undefined || factor === undefined) return attribute;
    factors.set(attribute.name, factor);
    return { ...attribute, unit: base };
  });
  return { attributes: converted, factors };
}

/** As JSON, which is YAML too. */
export function manifestOf({ name, manufacturer, model, attributes, commands }: Described): string {
  const profiles = profilesOf(attributes);
  const ownUnits = attributes.filter(({ isOwnUnit }) => isOwnUnit).map(({ unit = '' }) => unit);
  const manifest = {
    blueprint_spec: 'device/3.0',
    display_name: [manufacturer, model].filter((part) => part !== undefined).join(' ') || name,
    description: 'Made from what the device announced over MQTT.',
    runtime: { type: 'embedded' },
    ...(profiles.size > 0 && { implements: [...profiles.values()].map(({ profile }) => profile) }),
    ...(ownUnits.length > 0 && {
      units: Object.fromEntries(ownUnits.map((unit) => [unit, { symbol: unit }])),
    }),
    ...(attributes.length > 0 && {
      telemetry: Object.fromEntries(
        attributes.map((attribute) => [
          attribute.name,
          declarationOf(attribute, profiles.get(attribute.name)),
        ]),
      ),
    }),
    ...(commands.length > 0 && {
      command_groups: { [GROUP]: { display_name: 'Controls' } },
      commands: Object.fromEntries(
        commands.map(({ name: command, displayName, argument }) => [
          command,
          {
            display_name: displayName,
            group: GROUP,
            ...(argument && { arguments: { [argument.name]: argumentOf(argument) } }),
          },
        ]),
      ),
    }),
  };
  return JSON.stringify(manifest, undefined, 2);
}

function profilesOf(attributes: readonly Attribute[]): Map<string, (typeof PROFILES)[number]> {
  const chosen = new Map<string, (typeof PROFILES)[number]>();
  const isAmbient = !attributes.some(({ deviceClass }) => NOT_AMBIENT.has(deviceClass ?? ''));
  for (const profile of PROFILES) {
    if (profile.deviceClass === 'temperature' && !isAmbient) continue;
    const fitting = attributes.filter((attribute) => isFitting(attribute, profile));
    const [total = fitting.length === 1 ? fitting[0] : undefined] = fitting.filter(({ name }) =>
      ['power', 'energy', 'total', 'energy_total', 'total_energy', 'total_power', profile.member].includes(
        name,
      ),
    );
    const isTaken = attributes.some(({ name }) => name === profile.member && name !== total?.name);
    if (total && !isTaken) chosen.set(total.name, profile);
  }
  return chosen;
}

function isFitting(
  { type, deviceClass, unit, stateClass }: Attribute,
  profile: (typeof PROFILES)[number],
): boolean {
  if (type !== 'float' || deviceClass !== profile.deviceClass || unit !== profile.unit) return false;
  return profile.deviceClass !== 'energy' || stateClass === 'total_increasing' || stateClass === 'total';
}

function declarationOf(
  { displayName, type, unit, enum: values, description }: Attribute,
  profile: (typeof PROFILES)[number] | undefined,
) {
  return {
    display_name: displayName,
    type,
    ...(description !== undefined && { description }),
    ...(unit !== undefined && { unit }),
    ...(unit === 'Wh' && { auto_scale: ['kWh', 'MWh'] }),
    ...(values && { enum: values }),
    ...(profile && { implements: [`${profile.profile}.${profile.member}`] }),
  };
}

function argumentOf({ displayName, type, min, max, enum: values, isSensitive }: Argument) {
  return {
    display_name: displayName,
    type,
    required: true,
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(values && { enum: values }),
    ...(isSensitive === true && { sensitive: true }),
  };
}
