/** Enumerations: the two authored forms and the two compiled ones. Source: docs/interface/blueprints.md#enumerations. */
import { defined } from '../../../lib/members.ts';
import type { EnumItem, EnumValue } from '../manifest.ts';
import { mapOf } from './tree.ts';
import { plainOf, type YamlKey, type YamlMap, type YamlValue } from './yaml.ts';

const HUES = ['blue', 'yellow', 'green', 'red', 'cyan', 'pink', 'purple', 'orange'];
const SHADES = ['', '-lighter', '-light', '-dark', '-darker'];

/** The forty colour names of `device/3.0`. */
export const COLORS: readonly string[] = HUES.flatMap((hue) => SHADES.map((shade) => hue + shade));

const COLOR_OF_WORD = new Map<string, string>(
  (
    [
      ['ok online on operating running connected producing charging closed', 'green'],
      ['idle standby ready stopped off open inactive', 'green-lighter'],
      ['starting stopping shutting_down', 'cyan-dark'],
      ['warning throttled derated', 'yellow'],
      ['fault error conn_error read_error offline disconnected', 'red'],
      ['fatal', 'red-darker'],
      ['maintenance', 'pink-darker'],
    ] as const
  ).flatMap(([words, color]) => words.split(' ').map((word) => [word, color] as const)),
);

const ROTATION = [
  'blue',
  'purple',
  'orange',
  'cyan',
  'pink',
  'blue-light',
  'purple-light',
  'orange-light',
] as const;

/** A value of the enum as declared: keys of a numeric enum in map form are numbers written as text. */
export function enumValueOf(key: YamlKey, type: unknown): EnumValue {
  if (typeof key === 'number' && type !== 'string') return key;
  const text = String(key);
  if (type !== 'integer' && type !== 'float') return text;
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Items in author order; a missing display name is the value itself. */
export function enumItems(source: YamlValue, type: unknown): EnumItem[] {
  if (Array.isArray(source))
    return source.map((item) => {
      const value = item as EnumValue;
      return { value, display_name: String(value) };
    });
  if (!(source instanceof Map)) return [];
  return [...source].map(([key, meta]) => {
    const value = enumValueOf(key, type);
    const { display_name, description, color } = plainOf(mapOf(meta)) as Partial<EnumItem>;
    return { value, display_name: display_name ?? String(value), ...defined({ description, color }) };
  });
}

/** Gives every item a colour: its own, one by its word, or the next of a fixed rotation by position. */
export function withColors(items: EnumItem[]): EnumItem[] {
  return items.map((item, index) => ({
    ...item,
    color: item.color ?? COLOR_OF_WORD.get(String(item.value)) ?? ROTATION[index % ROTATION.length] ?? 'blue',
  }));
}

/** Both forms, as properties and telemetry carry them. */
export function bothEnumForms(items: EnumItem[]): { enum: EnumValue[]; enum_with_metainfo: EnumItem[] } {
  return { enum: items.map((item) => item.value), enum_with_metainfo: items };
}

/** The one form that arguments, responses and parameters carry: the form the author chose. */
export function authoredEnumForm(
  entry: YamlMap,
): { enum: EnumValue[] } | { enum_with_metainfo: EnumItem[] } | undefined {
  const source = entry.get('enum');
  if (source === undefined || source === null) return undefined;
  const items = enumItems(source, entry.get('type'));
  return Array.isArray(source) ? { enum: items.map((item) => item.value) } : { enum_with_metainfo: items };
}
