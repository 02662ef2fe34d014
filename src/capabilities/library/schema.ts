/** The library of devices as it stands on the wire. */
import * as v from 'valibot';
import { ENERGY_ROLES } from '#library';
import { BLUEPRINT_CATEGORIES } from '../../lib/blueprint-categories.ts';
import { nameContains } from '../../lib/text.ts';
import { query, shape } from '../../platform/http/index.ts';
import { type Blueprint, blueprintShape, blueprintToWire } from '../blueprints/index.ts';
import {
  type LibraryDevice,
  type LibraryEntry,
  type LibraryUpdate,
  type Origin,
  TRANSPORTS,
} from './model.ts';

const entries = {
  id: v.string(),
  source: shape.about(v.picklist(['LIBRARY', 'OWN']), 'OWN: uploaded to this gateway.'),
  name: v.string(),
  maker: v.string(),
  products: v.array(v.string()),
  category: v.string(),
  icon: v.optional(v.string()),
  roles: shape.about(v.array(v.string()), 'Parts of an energy site that it can be.'),
  transports: v.array(v.picklist(TRANSPORTS)),
  verified: shape.about(v.string(), 'How far its facts were compared.'),
};

const EXAMPLE = {
  id: 'eastron-sdm630',
  source: 'LIBRARY' as const,
  name: 'Eastron SDM630',
  maker: 'Eastron',
  products: ['SDM630-Modbus V2'],
  category: 'power-meters',
  roles: ['grid', 'pv'],
  transports: ['MODBUS_RTU' as const],
  verified: 'register image',
};

const parameterShape = v.object({
  name: v.string(),
  display_name: v.string(),
  description: v.optional(v.string()),
  choices: v.array(v.object({ value: v.string(), display_name: v.string() })),
  default: v.string(),
});

const valueShape = v.object({
  name: v.string(),
  display_name: v.string(),
  type: v.string(),
  unit: v.optional(v.string()),
  is_property: v.boolean(),
});

const commandShape = v.object({
  name: v.string(),
  display_name: v.string(),
  description: v.optional(v.string()),
  access_level: v.string(),
});

const listedShape = shape.named('LibraryDevice', v.object(entries), EXAMPLE);
const entryShape = v.object({
  ...entries,
  description: v.optional(v.string()),
  sources: shape.about(v.array(v.string()), 'Where its facts come from.'),
  before: shape.about(v.array(v.string()), 'What must be known or switched on before it works.'),
  parameters: v.array(parameterShape),
  connection: shape.about(
    shape.anyObject(),
    'Parameters of the configuration group `connection`, as in a manifest.',
  ),
  values: shape.about(v.array(valueShape), 'Of the default parameters.'),
  commands: shape.about(v.array(commandShape), 'Of the default parameters.'),
});

const originShape = v.object({
  template: v.string(),
  digest: shape.about(v.string(), 'Of what the blueprint is made of.'),
  parameters: v.record(v.string(), v.string()),
});

const names = () => v.array(v.string());
const updateShape = shape.named(
  'LibraryUpdate',
  v.object({
    device_id: shape.id(),
    template_id: v.string(),
    template_name: v.string(),
    parameters: shape.about(
      v.record(v.string(), v.string()),
      'Those of the device, as far as the template still has them.',
    ),
    values_added: names(),
    values_removed: names(),
    values_changed: shape.about(names(), 'Another name, unit or type.'),
    commands_added: names(),
    commands_removed: names(),
  }),
);

export const libraryShapes = {
  list: shape.listOf('devices', listedShape),
  one: v.object({ device: shape.named('LibraryEntry', entryShape) }),
  blueprint: v.object({ blueprint: blueprintShape, origin: originShape }),
  updates: shape.listOf('updates', updateShape),
};

export const listQuery = v.object({
  ...query.page(),
  search: query.text('Words, each of which is part of the name, the maker or a product, in any case.'),
  'maker.in': query.optionalList('Of one of these makers, in any case.'),
  'category.in': query.optionalChoices(BLUEPRINT_CATEGORIES, 'Of one of these categories.'),
  'role.in': query.optionalChoices(ENERGY_ROLES, 'That can be one of these parts of an energy site.'),
  'transport.in': query.optionalChoices(TRANSPORTS, 'Reached in one of these ways.'),
});

/** Whether a device is one of those that a query asks for. */
export function isAsked(device: LibraryDevice, asked: v.InferOutput<typeof listQuery>): boolean {
  const words = (asked.search ?? '').split(/\s+/);
  const said = [device.maker, device.name, ...device.products].join(' ');
  const isOneOf = (wanted: readonly string[] | undefined, values: readonly string[]): boolean =>
    wanted === undefined || values.some((value) => wanted.includes(value));
  return (
    words.every((word) => nameContains(said, word)) &&
    isOneOf(
      asked['maker.in']?.map((maker) => maker.toLowerCase()),
      [device.maker.toLowerCase()],
    ) &&
    isOneOf(asked['category.in'], [device.category]) &&
    isOneOf(asked['role.in'], device.roles) &&
    isOneOf(asked['transport.in'], device.transports)
  );
}

export const blueprintBody = v.object({
  parameters: shape.about(
    v.nullish(shape.anyNames({ role: 'grid' })),
    'Choices by parameter; those that are absent have their default.',
  ),
});

export type LibraryDeviceOnWire = v.InferOutput<typeof listedShape>;
export type LibraryEntryOnWire = v.InferOutput<typeof entryShape>;
export type LibraryUpdateOnWire = v.InferOutput<typeof updateShape>;

export const deviceToWire = (device: LibraryDevice) => shape.filled(listedShape, device);

export function entryToWire(entry: LibraryEntry): LibraryEntryOnWire {
  return {
    ...deviceToWire(entry),
    ...(entry.description !== undefined && { description: entry.description }),
    sources: entry.sources,
    before: entry.before,
    parameters: entry.parameters.map(({ choices, ...parameter }) => ({
      ...shape.filled(parameterShape, parameter as typeof parameter & { choices: never }),
      choices: choices.map(({ value, displayName }) => ({ value, display_name: displayName })),
    })),
    connection: entry.connection,
    values: entry.values.map((value) => shape.filled(valueShape, value)),
    commands: entry.commands.map((command) => shape.filled(commandShape, command)),
  };
}

export const blueprintAnswer = ({ blueprint, origin }: { blueprint: Blueprint; origin: Origin }) => ({
  blueprint: blueprintToWire(blueprint),
  origin,
});

export const updateToWire = (update: LibraryUpdate) => shape.filled(updateShape, update);
