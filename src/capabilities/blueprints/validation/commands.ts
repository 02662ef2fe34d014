/** Commands, their arguments and responses, and configuration groups of a manifest (docs/interface/blueprints.md#commands). */
import type { AttributeType } from '../manifest.ts';
import { enumItems } from '../source/enums.ts';
import { mapOf, textOf } from '../source/tree.ts';
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import { checkValue } from '../values.ts';
import { ACCESS_LEVELS, checkAliases, checkEnum, NAME, takenNames } from './attributes.ts';
import { checkSchemaField, type ManifestContext } from './context.ts';
import * as form from './shape.ts';

const ICON: form.Fields<ManifestContext> = { icon: form.text };

const GROUP: form.Fields<ManifestContext> = {
  display_name: { required: form.filledText },
  description: form.text,
  ui: form.objectOf(ICON),
};

const COMMAND_UI: form.Fields<ManifestContext> = {
  icon: form.text,
  quick_access: form.flag,
  mobile_quick_access: form.flag,
};

const CONFIRMATION: form.Fields<ManifestContext> = {
  severity: { required: form.choice(['info', 'warning']) },
  title: { required: form.filledText },
  description: form.text,
};

const COMMAND: form.Fields<ManifestContext> = {
  display_name: { required: form.filledText },
  group: {
    required: (context, path, value) => {
      form.text(context, path, value);
      if (typeof value === 'string' && !context.commandGroups.has(value))
        context.problems.add(path, `unknown command group "${value}"`);
    },
  },
  description: form.text,
  arguments: checkArgumentMap,
  response: checkResponse,
  populate_values_command: (context, path, value) => {
    form.text(context, path, value);
    if (typeof value === 'string' && !context.commandNames.has(value))
      context.problems.add(path, `unknown command "${value}"`);
  },
  ui: form.objectOf(COMMAND_UI),
  confirmation: form.objectOf(CONFIRMATION),
  access_level: form.choice(ACCESS_LEVELS),
  read_access_level: form.choice(ACCESS_LEVELS),
  implements: form.textOrTexts,
  aliases: form.textOrTexts,
};

const CONFIGURATION_GROUP: form.Fields<ManifestContext> = {
  display_name: { required: form.filledText },
  parameters: {
    required: (context, path, value) => {
      if (value instanceof Map && value.size === 0) context.problems.add(path, 'must not be empty');
      else checkArgumentMap(context, path, value);
    },
  },
  description: form.text,
  ui: form.objectOf(ICON),
  access_level: form.choice(ACCESS_LEVELS),
};

export function checkCommands(context: ManifestContext, value: YamlValue): void {
  const taken = takenNames(mapOf(value), []);
  form.checkNamed(context, 'commands', value, NAME, (_, path, entry) => {
    if (form.checkObject(context, path, entry, COMMAND) && !context.isOld)
      checkAliases(context, path, entry, taken);
  });
}

export const checkCommandGroups = form.namedObjects(NAME, GROUP);
export const checkConfiguration = form.namedObjects(NAME, CONFIGURATION_GROUP);

const TYPES = ['boolean', 'string', 'integer', 'float', 'array_of_strings', 'json'];
const NUMERIC = ['integer', 'float'];

const COMMON = {
  type: { required: form.choice(TYPES) },
  description: form.text,
  required: form.flag,
  enum: form.anything,
  format: form.text,
  json_schema: form.text,
};

const ARGUMENT: form.Fields<ManifestContext> = {
  display_name: { required: form.filledText },
  ...COMMON,
  min: form.number,
  max: form.number,
  sensitive: form.flag,
  default: form.anything,
};

const RESPONSE_FIELD: form.Fields<ManifestContext> = { display_name: form.text, ...COMMON };

/** `arguments` of a command or `parameters` of a configuration group. */
function checkArgumentMap(context: ManifestContext, path: string, value: YamlValue): void {
  form.checkNamed(context, path, value, NAME, (_, here, entry) => {
    if (!form.checkObject(context, here, entry, ARGUMENT)) return;
    checkDeclaration(context, here, entry);
    checkRange(context, here, entry);
    if (!context.isOld) checkDefault(context, here, entry);
  });
}

function checkResponse(context: ManifestContext, path: string, value: YamlValue): void {
  form.checkNamed(context, path, value, undefined, (_, here, entry) => {
    if (form.checkObject(context, here, entry, RESPONSE_FIELD)) checkDeclaration(context, here, entry);
  });
}

function checkDeclaration(context: ManifestContext, path: string, entry: YamlMap): void {
  if (TYPES.includes(textOf(entry.get('type')) ?? '')) checkEnum(context, `${path}.enum`, entry, false);
  checkSchemaField(context, path, entry);
}

function checkRange(context: ManifestContext, path: string, entry: YamlMap): void {
  const { min, max, type } = { min: entry.get('min'), max: entry.get('max'), type: entry.get('type') };
  if (typeof type === 'string' && TYPES.includes(type) && !NUMERIC.includes(type)) {
    for (const [name, bound] of Object.entries({ min, max }))
      if (bound !== undefined && !(context.isOld && bound === null))
        context.problems.add(`${path}.${name}`, 'allowed only for numeric types');
  } else if (typeof min === 'number' && typeof max === 'number' && min > max)
    context.problems.add(`${path}.min`, 'must not be greater than max');
}

/** The default must be a value that a caller could give. Booleans written as text are meant as such. */
function checkDefault(context: ManifestContext, path: string, entry: YamlMap): void {
  const value = entry.get('default');
  const type = entry.get('type');
  if (value === undefined || typeof type !== 'string' || !TYPES.includes(type)) return;
  if (type === 'boolean' && (value === 'true' || value === 'false')) return;
  if (value === null || typeof value === 'object') {
    context.problems.add(`${path}.default`, 'must be a string, a number or a boolean');
    return;
  }
  if (type === 'json') return;
  const kind = type as AttributeType;
  if (checkValue({ type: kind }, value).problem !== undefined) {
    context.problems.add(`${path}.default`, `must be ${type}`);
    return;
  }
  const items = enumItems(entry.get('enum') ?? null, type);
  const { problem } = checkValue(
    {
      type: kind,
      ...(items.length > 0 ? { enum: items.map((item) => item.value) } : {}),
      ...boundsOf(entry),
    },
    value,
  );
  if (problem !== undefined) context.problems.add(`${path}.default`, problem);
}

function boundsOf(entry: YamlMap): { min?: number; max?: number } {
  const min = entry.get('min');
  const max = entry.get('max');
  return { ...(typeof min === 'number' ? { min } : {}), ...(typeof max === 'number' ? { max } : {}) };
}
