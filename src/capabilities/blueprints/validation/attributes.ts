/** Properties and telemetry attributes of a manifest (docs/interface/blueprints.md#attributes). */
import { COLORS, enumValueOf } from '../source/enums.ts';
import { mapOf, textOf } from '../source/tree.ts';
import { parseUnit, type Unit } from '../source/units.ts';
import type { YamlKey, YamlMap, YamlValue } from '../source/yaml.ts';
import { checkSchemaField, type ManifestContext } from './context.ts';
import * as form from './shape.ts';
import { checkObject, choice, type Fields, kindOf, type Scope, shown, text } from './shape.ts';

export const ACCESS_LEVELS = ['readonly', 'user', 'owner', 'installer', 'vendor', 'system'];
export const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

type Section = 'properties' | 'telemetry';

const RESERVED: Record<Section, readonly string[]> = {
  properties: ['timestamp'],
  telemetry: ['alerts', 'alert_details', 'timestamp'],
};

const PROPERTY_TYPES = ['boolean', 'string', 'integer', 'float', 'array_of_strings'];
const TYPES: Record<Section, readonly string[]> = {
  properties: PROPERTY_TYPES,
  telemetry: [...PROPERTY_TYPES, 'json', 'alerts'],
};
const NUMERIC = ['integer', 'float'];

function shapeOf(section: Section): form.Fields<ManifestContext> {
  return {
    display_name: { required: form.filledText },
    type: { required: (context, path, value) => checkType(context, path, value, section) },
    description: form.text,
    enum: form.anything,
    unit: form.text,
    auto_scale: form.texts,
    allow_unit_c: form.flag,
    allow_unit_f: form.flag,
    implements: form.textOrTexts,
    aliases: form.textOrTexts,
    access_level: form.choice(ACCESS_LEVELS),
    json_schema: form.text,
  };
}

const SHAPES: Record<Section, form.Fields<ManifestContext>> = {
  properties: shapeOf('properties'),
  telemetry: shapeOf('telemetry'),
};

export function checkAttributes(context: ManifestContext, section: Section, value: YamlValue): void {
  const taken = takenNames(mapOf(value), RESERVED[section]);
  form.checkNamed(context, section, value, NAME, (_, path, entry, name) => {
    if (!context.isOld && RESERVED[section].includes(name)) {
      context.problems.add(path, 'reserved, must not be declared');
      return;
    }
    if (!form.checkObject(context, path, entry, SHAPES[section])) return;
    if (TYPES[section].includes(textOf(entry.get('type')) ?? ''))
      checkEnum(context, `${path}.enum`, entry, true);
    if (context.isOld) return;
    checkUnits(context, path, entry);
    checkSchemaField(context, path, entry);
    if (section === 'telemetry' && name === 'status') checkStatus(context, path, entry);
    checkAliases(context, path, entry, taken);
  });
}

function checkType(context: ManifestContext, path: string, value: YamlValue, section: Section): void {
  if (section === 'properties' && value === 'json' && !context.isOld)
    context.problems.add(path, 'json is not allowed for properties');
  else form.choice(context.isOld ? PROPERTY_TYPES : TYPES[section])(context, path, value);
}

/** The one attribute that is shown next to the device's name. */
function checkStatus(context: ManifestContext, path: string, entry: YamlMap): void {
  if (entry.has('type') && entry.get('type') !== 'string')
    context.problems.add(`${path}.type`, 'must be string');
  if (!entry.has('enum')) context.problems.add(`${path}.enum`, 'required');
}

function checkUnits(context: ManifestContext, path: string, entry: YamlMap): void {
  const type = entry.get('type');
  const unit = entry.get('unit');
  if (
    unit !== undefined &&
    typeof type === 'string' &&
    TYPES.telemetry.includes(type) &&
    !NUMERIC.includes(type)
  )
    context.problems.add(`${path}.unit`, `not allowed for type ${type}`);
  const base = typeof unit === 'string' ? checkUnit(context, `${path}.unit`, unit, entry) : undefined;
  const scales = form.listed(`${path}.auto_scale`, entry.get('auto_scale'));
  if (scales.length > 0 && unit === undefined) context.problems.add(`${path}.auto_scale`, 'requires unit');
  for (const [here, code] of scales) {
    const scale = checkUnit(context, here, code, entry);
    if (scale !== undefined && base !== undefined && scale.dimension !== base.dimension)
      context.problems.add(here, `"${code}" is not compatible with unit "${base.code}"`);
  }
}

const AMBIGUOUS: Record<string, { meaning: string; better: string; permission: string }> = {
  C: { meaning: 'coulomb', better: 'Cel', permission: 'allow_unit_c' },
  F: { meaning: 'farad', better: '[degF]', permission: 'allow_unit_f' },
};

/** The unit of a code; undefined for one of the author's own, which scales into nothing, and for a wrong one. */
function checkUnit(context: ManifestContext, path: string, code: string, entry: YamlMap): Unit | undefined {
  if (context.ownUnits.has(code)) return undefined;
  const ambiguous = Object.hasOwn(AMBIGUOUS, code) ? AMBIGUOUS[code] : undefined;
  if (ambiguous !== undefined && entry.get(ambiguous.permission) !== true) {
    const { meaning, better, permission } = ambiguous;
    context.problems.add(path, `"${code}" means ${meaning}; use "${better}" or set ${permission}`);
    return undefined;
  }
  const unit = parseUnit(code);
  if (unit === undefined)
    context.problems.add(path, `unknown unit "${code}"; use a UCUM code or declare it in units`);
  return unit;
}

const ALIAS = /^[a-zA-Z0-9_]+$/;

/**
 * Aliases of one entry must be well formed and unlike every name in `taken`: declared and reserved names of the
 * section and the aliases of the entries before, to which they are added.
 */
export function checkAliases(
  context: ManifestContext,
  path: string,
  entry: YamlMap,
  taken: Set<string>,
): void {
  for (const [here, alias] of form.listed(`${path}.aliases`, entry.get('aliases'))) {
    if (!ALIAS.test(alias)) context.problems.add(here, `invalid alias "${alias}"`);
    else if (taken.has(alias)) context.problems.add(here, `name "${alias}" is already used`);
    taken.add(alias);
  }
}

/** Names that no alias of the section may have. */
export function takenNames(section: YamlMap, reserved: readonly string[]): Set<string> {
  return new Set([...[...section.keys()].map(String), ...reserved]);
}

// Enumerations of a manifest (docs/interface/blueprints.md#enumerations).

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
