/** Arguments, response fields and configuration parameters (docs/interface/blueprints.md#commands). */
import { enumItems } from '../source/enums.ts';
import type { AttributeType } from '../manifest.ts';
import { textOf } from '../source/tree.ts';
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import { checkValue } from '../values.ts';
import { NAME } from './attributes.ts';
import { checkSchemaField, type ManifestContext } from './context.ts';
import { checkEnum } from './enums.ts';
import {
  anything,
  checkNamed,
  checkObject,
  choice,
  type Fields,
  filledText,
  flag,
  number,
  text,
} from './shape.ts';

const TYPES = ['boolean', 'string', 'integer', 'float', 'array_of_strings', 'json'];
const NUMERIC = ['integer', 'float'];

const COMMON = {
  type: { required: choice(TYPES) },
  description: text,
  required: flag,
  enum: anything,
  format: text,
  json_schema: text,
};

const ARGUMENT: Fields<ManifestContext> = {
  display_name: { required: filledText },
  ...COMMON,
  min: number,
  max: number,
  sensitive: flag,
  default: anything,
};

const RESPONSE_FIELD: Fields<ManifestContext> = { display_name: text, ...COMMON };

/** `arguments` of a command or `parameters` of a configuration group. */
export function checkArgumentMap(context: ManifestContext, path: string, value: YamlValue): void {
  checkNamed(context, path, value, NAME, (_, here, entry) => {
    if (!checkObject(context, here, entry, ARGUMENT)) return;
    checkDeclaration(context, here, entry);
    checkRange(context, here, entry);
    if (!context.isOld) checkDefault(context, here, entry);
  });
}

export function checkResponse(context: ManifestContext, path: string, value: YamlValue): void {
  checkNamed(context, path, value, undefined, (_, here, entry) => {
    if (checkObject(context, here, entry, RESPONSE_FIELD)) checkDeclaration(context, here, entry);
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
