/** Enumerations of a manifest (docs/interface/blueprints.md#enumerations). */
import { COLORS, enumValueOf } from '../source/enums.ts';
import type { YamlKey, YamlMap, YamlValue } from '../source/yaml.ts';
import { checkObject, choice, type Fields, kindOf, type Scope, shown, text } from './shape.ts';

const ITEM_FIELDS = { display_name: text, description: text };
const PLAIN_ITEM: Fields<Scope> = ITEM_FIELDS;
const COLORED_ITEM: Fields<Scope> = { ...ITEM_FIELDS, color: choice(COLORS) };
/** Old blueprints carry any colour text. */
const OLD_ITEM: Fields<Scope> = { ...ITEM_FIELDS, color: text };

/** Checks `entry.enum`, whose type is one of the known ones. */
export function checkEnum(context: Scope, path: string, entry: YamlMap, withColors: boolean): void {
  const source = entry.get('enum');
  const type = entry.get('type');
  if (source === undefined || (context.isOld && source === null)) return;
  if (type !== 'string' && type !== 'integer' && type !== 'float') {
    if (typeof type === 'string') context.problems.add(path, `not allowed for type ${type}`);
    return;
  }
  if (Array.isArray(source)) checkList(context, path, source, type);
  else if (source instanceof Map)
    checkMap(context, path, source, type, context.isOld ? OLD_ITEM : withColors ? COLORED_ITEM : PLAIN_ITEM);
  else context.problems.add(path, 'must be an array or an object');
}

function checkList(context: Scope, path: string, source: YamlValue[], type: string): void {
  if (source.length === 0 && !context.isOld) context.problems.add(path, 'must not be empty');
  const seen = new Set<YamlValue>();
  for (const [index, value] of source.entries()) {
    const here = `${path}[${index}]`;
    if (!isOfType(value, type)) {
      const got =
        value instanceof Map || Array.isArray(value) ? kindOf(value) : `${kindOf(value)} ${shown(value)}`;
      context.problems.add(here, `must be ${type}, got ${value === null ? 'null' : got}`);
    } else if (seen.has(value) && !context.isOld)
      context.problems.add(here, `duplicate value ${shown(value)}`);
    seen.add(value);
  }
}

function checkMap(context: Scope, path: string, source: YamlMap, type: string, fields: Fields<Scope>): void {
  if (source.size === 0 && !context.isOld) context.problems.add(path, 'must not be empty');
  const seen = new Set<YamlValue>();
  for (const [key, meta] of source) {
    const here = `${path}.${String(key)}`;
    const value = enumValueOf(key, type);
    if (!isOfType(value, type) || !isTextual(key)) context.problems.add(here, `must be ${type}`);
    else if (seen.has(value) && !context.isOld) context.problems.add(here, `duplicate value ${shown(value)}`);
    seen.add(value);
    if (meta !== null) checkObject(context, here, meta, fields);
  }
}

/** Keys are text or numbers; `true` and an empty key are neither a text nor a number of the author. */
function isTextual(key: YamlKey): boolean {
  return typeof key === 'string' || typeof key === 'number';
}

function isOfType(value: YamlValue, type: string): boolean {
  if (type === 'string') return typeof value === 'string';
  return type === 'integer' ? Number.isInteger(value) : typeof value === 'number' && Number.isFinite(value);
}
