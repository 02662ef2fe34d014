/** The words that templates share: what an attribute of a name is, and which profiles a set of attributes fulfils. */
import type { TemplateValue } from './template.ts';

interface Attribute {
  name: string;
  type?: 'float' | 'integer' | 'string' | 'boolean';
  unit?: string;
  enum?: readonly string[];
  property?: boolean;
}

/** The content of attributes.yml. */
export interface AttributeBook {
  groups: Readonly<Record<string, Readonly<Record<string, Attribute>>>>;
  kinds: Readonly<Record<string, readonly string[]>>;
}

/** An attribute as a blueprint declares it. */
export interface DeclaredAttribute {
  display_name: string;
  description?: string | undefined;
  type: string;
  unit?: string | undefined;
  enum?: readonly (string | number | boolean)[] | undefined;
  json_schema?: string;
}

/** JSON Schema of a schedule (docs/telemetry.md#schedules). */
const SCHEDULE_SCHEMA = JSON.stringify({
  type: 'object',
  required: ['start', 'step_s', 'values'],
  properties: {
    start: { type: 'integer' },
    step_s: { type: 'integer', minimum: 1 },
    values: { type: 'array', items: { type: ['number', 'null'] } },
  },
});

/** The book's entry for a name; undefined for a name of the template's own. */
function knownAttribute(book: AttributeBook, name: string): Attribute | undefined {
  for (const group of Object.values(book.groups)) if (Object.hasOwn(group, name)) return group[name];
  return undefined;
}

/** ` (like it: charge_power)`: the names of the book that share most words with one that is not there. */
export function likeNames(book: AttributeBook, name: string): string {
  const words = new Set(name.split('_'));
  const shared = (known: string): number => {
    const own = known.split('_');
    return own.filter((word) => words.has(word)).length / Math.max(own.length, words.size);
  };
  const like = [...new Set(Object.values(book.groups).flatMap((group) => Object.keys(group)))]
    .filter((known) => shared(known) >= 0.5)
    .sort((one, other) => shared(other) - shared(one))
    .slice(0, 3);
  return like.length === 0 ? '' : ` (like it: ${like.join(', ')})`;
}

export const isProperty = (book: AttributeBook, name: string, value: TemplateValue): boolean =>
  value.property ?? knownAttribute(book, name)?.property ?? false;

/** The type of a value: its own, the book's, or text where it is named by an enumeration. */
export function typeOf(book: AttributeBook, name: string, value: TemplateValue): string {
  if ('schedule' in value) return 'json';
  const own = value.type ?? knownAttribute(book, name)?.type;
  if (own !== undefined) return own;
  const names = enumOf(value);
  if (names.length > 0 && names.every((item) => typeof item === 'string')) return 'string';
  if (names.length > 0 && names.every((item) => typeof item === 'boolean')) return 'boolean';
  if ('coil' in value || 'discrete' in value) return 'boolean';
  return 'as' in value && value.as.startsWith('string') ? 'string' : 'float';
}

const enumOf = (value: TemplateValue) => ('enum' in value ? Object.values(value.enum ?? {}) : []);

export function declare(book: AttributeBook, name: string, value: TemplateValue): DeclaredAttribute {
  const known = knownAttribute(book, name);
  const type = typeOf(book, name, value);
  const ownEnum = 'enum' in value && type !== 'boolean' ? [...new Set(enumOf(value))] : undefined;
  return {
    display_name: value.name ?? known?.name ?? name,
    ...(value.description === undefined ? {} : { description: value.description }),
    type,
    ...(type === 'float' || type === 'integer' ? { unit: value.unit ?? known?.unit } : {}),
    ...(type === 'json' ? { json_schema: SCHEDULE_SCHEMA } : {}),
    ...(type === 'string' || type === 'integer' ? { enum: known?.enum ?? ownEnum } : {}),
  };
}

/** Whether a value is what profiles mean by its name: of the same unit, a number or none, a property or none. */
export function fitsBook(book: AttributeBook, name: string, value: TemplateValue): boolean {
  const known = knownAttribute(book, name);
  if (!known) return true;
  const isNumber = (type: string): boolean => type === 'float' || type === 'integer';
  return (
    (value.unit ?? known.unit) === known.unit &&
    isNumber(typeOf(book, name, value)) === isNumber(known.type ?? 'float') &&
    isProperty(book, name, value) === (known.property ?? false)
  );
}

/** Meters and inverters use the same names for their phases, but not the same profiles. */
const METER_PROFILES = 'lib.energy.power_meter.';
const INVERTER_PROFILES = 'lib.energy.inverter.';

/** Profiles whose members are all declared: whole kinds of devices first, then single abilities beyond them. */
export function profilesOf(book: AttributeBook, declared: ReadonlySet<string>, category: string): string[] {
  const foreign = category === 'power-meters' ? INVERTER_PROFILES : METER_PROFILES;
  const abilities = Object.entries(book.groups)
    .filter(
      ([group, members]) =>
        group.startsWith('lib.') &&
        !group.startsWith(foreign) &&
        Object.keys(members).every((name) => declared.has(name)),
    )
    .map(([group]) => group);
  const fulfilled = new Set(abilities);
  const kinds = Object.entries(book.kinds)
    .filter(([, needed]) => needed.every((group) => fulfilled.has(group)))
    .map(([kind]) => kind);
  const covered = new Set(kinds.flatMap((kind) => book.kinds[kind] ?? []));
  return [...kinds, ...abilities.filter((group) => !covered.has(group))];
}
