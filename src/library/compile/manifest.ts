/** The manifest of a template's blueprint. */
import type { Template, TemplateCommand } from './template.ts';
import { type DeclaredAttribute, declare, fitsBook, isProperty, profilesOf } from './attributes.ts';
import type { PlanParts } from './plan.ts';

type Section = Record<string, unknown>;

const TRANSPORT_TEXT = {
  tcp: (port: number): string => `tcp://192.168.1.20:${port}`,
  rtu: (): string => 'port://rs485',
  rtu_over_tcp: (): string => 'rtu+tcp://192.168.1.20:4001',
} as const;

const RESERVED_ALERTS = {
  communication_failed: {
    display_name: 'Communication Failed',
    description: 'The device does not answer.',
    severity: 'error',
    grace_period: '1m',
    troubleshooting: ['Is the device switched on and connected?', 'Do address and unit fit?'],
  },
  values_missing: {
    display_name: 'Values Missing',
    description: 'The device answers some requests only.',
    severity: 'info',
    grace_period: '5m',
  },
} as const;

interface ManifestParts extends PlanParts {
  commands: ReadonlyMap<string, TemplateCommand>;
  roles: readonly NonNullable<Template['roles']>[number][];
  constants: Readonly<Record<string, string>>;
}

export function manifestOf(parts: ManifestParts): Section {
  const { template, values, book } = parts;
  const shown = [...values].filter(([, value]) => value.internal !== true);
  const declared = (isWanted: (name: string) => boolean): Record<string, DeclaredAttribute> =>
    Object.fromEntries(
      shown.filter(([name]) => isWanted(name)).map(([name, value]) => [name, declare(book, name, value)]),
    );
  const asProperty = (name: string): boolean => {
    const value = values.get(name);
    return value !== undefined && isProperty(book, name, value);
  };
  const properties = {
    ...Object.fromEntries(
      Object.keys(parts.constants).map((name) => [
        name,
        { display_name: book.groups['lib.device.nameplate']?.[name]?.name ?? name, type: 'string' },
      ]),
    ),
    ...declared(asProperty),
  };
  const fitting = shown.filter(([name, value]) => fitsBook(book, name, value));
  const names = new Set([...Object.keys(parts.constants), ...fitting.map(([name]) => name)]);
  return {
    blueprint_spec: 'device/3.0',
    display_name: template.name,
    ...(template.description === undefined ? {} : { description: template.description }),
    ...(template.icon === undefined ? {} : { icon: template.icon }),
    category: template.category,
    implements: profilesOf(book, names, template.category),
    '.energy': parts.roles.map((role) =>
      Object.fromEntries(
        Object.entries(role).filter(([key, value]) => key !== 'when' && value !== undefined),
      ),
    ),
    runtime: { type: 'lua', requirements: template.modbus ? ['modbus'] : [], options: { dir: 'lua' } },
    ...(template.units === undefined
      ? {}
      : {
          units: Object.fromEntries(
            Object.entries(template.units).map(([code, symbol]) => [code, { symbol }]),
          ),
        }),
    ...(hasSettings(template) ? { configuration: { connection: connectionGroup(template) } } : {}),
    properties,
    telemetry: {
      ...declared((name) => !asProperty(name)),
      conn_alerts: { display_name: 'Connection Alerts', type: 'alerts' },
    },
    alerts: {
      ...RESERVED_ALERTS,
      ...Object.fromEntries(
        Object.entries(template.alerts ?? {}).map(([name, { name: display_name, severity, description }]) => [
          name,
          { display_name, severity, ...(description === undefined ? {} : { description }) },
        ]),
      ),
    },
    ...commandSections(parts.commands),
  };
}

/** A service on the internet that asks for nothing has no connection to set up. */
export const hasSettings = ({ http, clock }: Template): boolean =>
  clock !== undefined || http?.url === undefined || http.auth !== 'none' || http.settings !== undefined;

function connectionGroup(template: Template): Section {
  const { modbus, http, mqtt, telegrams, udp, clock } = template;
  if (clock)
    return {
      display_name: 'Settings',
      access_level: 'owner',
      ui: { icon: 'cog' },
      parameters: settingsParameters(clock.settings),
    };
  const parameters = modbus
    ? modbusParameters(modbus)
    : http
      ? httpParameters(http)
      : telegrams
        ? telegramParameters(telegrams)
        : udp
          ? { address: HOST }
          : mqttParameters(mqtt);
  return { display_name: 'Connection', access_level: 'owner', ui: { icon: 'lan-connect' }, parameters };
}

function modbusParameters(modbus: NonNullable<Template['modbus']>): Section {
  const examples = modbus.transports.map((transport) => TRANSPORT_TEXT[transport](modbus.port));
  const format = `8${modbus.parity.slice(0, 1).toUpperCase()}${modbus.stop_bits}`;
  const line = modbus.baud === undefined ? '' : ` The line has ${modbus.baud} baud, ${format}.`;
  const unit = (display_name: string, preset: number | undefined): Section => ({
    display_name,
    description: 'Modbus address of the device.',
    type: 'integer',
    min: 0,
    max: 255,
    ...(preset === undefined ? { required: true } : { default: preset }),
  });
  return {
    address: {
      display_name: 'Address',
      description: `For example ${examples.join(' or ')}.${line}`,
      type: 'string',
      format: 'connection_uri',
      required: true,
    },
    unit_id: unit('Unit', modbus.unit),
    ...Object.fromEntries(
      Object.entries(modbus.units ?? {}).map(([name, more]) => [name, unit(more.name, more.default)]),
    ),
  };
}

const HOST = {
  display_name: 'Address',
  description: 'Name or IP address of the device in the network.',
  type: 'string',
  required: true,
};

function telegramParameters({ group, transports, port, baud }: NonNullable<Template['telegrams']>): Section {
  if (group !== undefined)
    return {
      address: {
        display_name: 'Group',
        description: 'The multicast group that the meter sends to.',
        type: 'string',
        default: `${group}:${port}`,
      },
      meter: {
        display_name: 'Serial Number',
        description: 'Where several meters send to the group; otherwise the first that is received.',
        type: 'string',
        default: '',
      },
    };
  const examples = { serial: 'port://p1', tcp: `tcp://192.168.1.20:${port}`, multicast: '' };
  const line = baud === undefined ? '' : ` The line has ${baud} baud, 8N1.`;
  return {
    address: {
      display_name: 'Address',
      description: `For example ${transports.map((name) => examples[name]).join(' or ')}.${line}`,
      type: 'string',
      required: true,
    },
  };
}

function httpParameters(http: NonNullable<Template['http']>): Section {
  const password = {
    display_name: http.auth === 'bearer' ? 'Token' : 'Password',
    type: 'string',
    sensitive: true,
  };
  return {
    ...(http.url === undefined ? { address: HOST } : {}),
    ...(http.auth === 'basic' || http.auth === 'digest'
      ? { user: { display_name: 'User', type: 'string', default: http.user ?? '' } }
      : {}),
    ...(http.auth === 'none' ? {} : { password }),
    ...settingsParameters(http.settings ?? {}),
  };
}

const typeOfSetting = (preset: string | number | boolean | undefined): string => {
  if (typeof preset === 'number') return Number.isInteger(preset) ? 'integer' : 'float';
  return typeof preset === 'boolean' ? 'boolean' : 'string';
};

function settingsParameters(declared: NonNullable<Template['clock']>['settings']): Section {
  const settings = Object.entries(declared).map(([name, setting]) => {
    const { name: display_name, description, default: preset, sensitive } = setting;
    return [
      name,
      {
        display_name,
        ...(description === undefined ? {} : { description }),
        type: setting.type ?? typeOfSetting(preset),
        ...(preset === undefined ? { required: true } : { default: preset }),
        ...(sensitive === true ? { sensitive } : {}),
      },
    ] as const;
  });
  return Object.fromEntries(settings);
}

function mqttParameters(mqtt: Template['mqtt']): Section {
  return {
    address: {
      display_name: 'Broker',
      description: 'The gateway itself, or the address of another broker such as mqtt://192.168.1.20.',
      type: 'string',
      default: 'gateway',
    },
    topic: {
      display_name: 'Topic',
      description: 'Beginning of the topics of the device.',
      type: 'string',
      default: mqtt?.topic ?? '',
    },
    user: { display_name: 'User', type: 'string', default: '' },
    password: { display_name: 'Password', type: 'string', sensitive: true },
  };
}

function commandSections(commands: ReadonlyMap<string, TemplateCommand>): Section {
  if (commands.size === 0) return {};
  return {
    command_groups: { control: { display_name: 'Control' } },
    commands: Object.fromEntries([...commands].map(([name, command]) => [name, commandOf(command)])),
  };
}

function commandOf(command: TemplateCommand): Section {
  const { name, description, level, confirmation, quick_access: quickAccess } = command;
  return {
    display_name: name,
    ...(description === undefined ? {} : { description }),
    group: 'control',
    access_level: level,
    ...(quickAccess === true ? { ui: { quick_access: true, mobile_quick_access: true } } : {}),
    ...(confirmation === undefined ? {} : { confirmation: { severity: 'warning', title: confirmation } }),
    ...(command.arguments === undefined
      ? {}
      : {
          arguments: Object.fromEntries(
            Object.entries(command.arguments).map(([key, argument]) => [key, argumentOf(argument)]),
          ),
        }),
  };
}

function argumentOf(argument: NonNullable<TemplateCommand['arguments']>[string]): Section {
  const { name, unit, enum: choices, default: preset, ...rest } = argument;
  const withNames = choices && !Array.isArray(choices);
  return {
    display_name: unit === undefined ? name : `${name} (${unit})`,
    ...rest,
    ...(preset === undefined ? { required: true } : { default: preset }),
    ...(choices === undefined
      ? {}
      : {
          enum: withNames
            ? Object.fromEntries(
                Object.entries(choices).map(([value, display_name]) => [value, { display_name }]),
              )
            : choices,
        }),
  };
}
