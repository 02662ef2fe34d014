/** Values for schemas of the description: such that fit, such that do not, and such that nobody expects. */
import type { Random } from '../../support/random.ts';
import { membersOf, type Schema } from './description.ts';

const TEXTS = [
  'text',
  'Battery 1',
  'voltage',
  'Ünïcode näme',
  '電池',
  'a,b',
  '50 %',
  'x=1&y=2',
  "O'Brien",
  'soc,status',
  'battery-1',
];

/** Texts that have broken other programs. */
export const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '../../etc/passwd',
  '%2e%2e%2f',
  '%',
  '%zz',
  "'; DROP TABLE devices; --",
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '-1',
  '1e999',
  'NaN',
  'null',
  'undefined',
  '[object Object]',
  '\r\nX-Injected: 1',
  '🔋'.repeat(200),
  'x'.repeat(5_000),
  '9'.repeat(400),
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:60.999999999+23:59',
  '9999999y',
] as const;

const HOSTILE_VALUES: readonly unknown[] = [
  ...HOSTILE_TEXTS,
  null,
  true,
  0,
  -1,
  1.5,
  Number.MAX_VALUE,
  Number.MIN_SAFE_INTEGER,
  [],
  {},
  [[]],
  [null],
  { toString: 1 },
  { length: -1 },
];

const DEPTH_MAX = 6;

export interface Values {
  /** Fits the schema. `name`: of the parameter or member, for values that must exist. */
  fitting(schema: Schema, name?: string): unknown;
  /** Does not fit the schema; undefined when everything does. */
  unfitting(schema: Schema): unknown;
  hostile(): unknown;
}

/**
 * @param known a value that exists in the gateway or suits the others, by the name of a parameter or member
 * @param definitions what references mean
 */
export function createValues(
  random: Random,
  definitions: ReadonlyMap<string, Schema>,
  known: (name: string) => unknown,
): Values {
  const resolved = (schema: Schema): Schema =>
    typeof schema['$ref'] === 'string' ? (definitions.get(schema['$ref']) ?? {}) : schema;

  function fitting(given: Schema, name = '', depth = 0): unknown {
    const schema = resolved(given);
    const alternatives = schema['anyOf'] as Schema[] | undefined;
    const examples = schema['examples'] as unknown[] | undefined;
    const existing = known(name);
    if (existing !== undefined) return existing;
    if (examples && (random.chance(0.5) || isGrammar(schema))) return random.pick(examples);
    if (alternatives) return fitting(random.pick(alternatives), name, depth);
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return random.pick(schema['enum'] as unknown[]);
    return ofType(schema, depth);
  }

  function ofType(schema: Schema, depth: number): unknown {
    switch (schema['type']) {
      case 'string':
        return textFor(schema);
      case 'integer':
        return numberFor(schema, true);
      case 'number':
        return numberFor(schema, false);
      case 'boolean':
        return random.chance(0.5);
      case 'null':
        return null;
      case 'array': {
        const least = (schema['minItems'] as number | undefined) ?? 0;
        const length = depth > DEPTH_MAX ? least : random.integer(least, least + 2);
        return Array.from({ length }, () => fitting(membersOf(schema['items']), '', depth + 1));
      }
      case 'object':
        return objectFor(schema, depth);
      default:
        return random.pick(['text', 5, true, null]);
    }
  }

  function textFor(schema: Schema): string {
    if (schema['format'] === 'uuid') return uuid(random);
    if (schema['format'] === 'date-time')
      return new Date(random.integer(1_700_000_000, 1_800_000_000) * 1_000).toISOString();
    if (typeof schema['pattern'] === 'string') return `x${random.integer(10_000_000, 99_999_999)}`;
    const least = (schema['minLength'] as number | undefined) ?? 0;
    const most = (schema['maxLength'] as number | undefined) ?? 255;
    // A shape without a least length takes an empty text as well.
    if (random.chance(0.05)) return 'x'.repeat(least);
    const text = random.chance(0.05) ? 'x'.repeat(most) : random.pick(TEXTS);
    return text.padEnd(least, 'x').slice(0, most);
  }

  function numberFor(schema: Schema, isWhole: boolean): number {
    const least = (schema['minimum'] as number | undefined) ?? -1_000;
    const most = (schema['maximum'] as number | undefined) ?? 1_000;
    if (random.chance(0.2)) return random.pick([least, most]);
    const near = Math.min(most, least + 100);
    return isWhole ? random.integer(least, near) : random.between(least, near);
  }

  function objectFor(schema: Schema, depth: number): Record<string, unknown> {
    const required = (schema['required'] as string[] | undefined) ?? [];
    const members = Object.entries(membersOf(schema['properties']))
      .filter(([name]) => required.includes(name) || random.chance(depth > DEPTH_MAX ? 0 : 0.5))
      .map(([name, member]) => [name, fitting(membersOf(member), name, depth + 1)] as const);
    return Object.fromEntries(members);
  }

  function unfitting(given: Schema): unknown {
    const schema = resolved(given);
    const words = JSON.stringify(schema);
    const candidates: unknown[] = [];
    if (!/"type":"(string|array)"|"enum"|^\{\}$/.test(words)) candidates.push('no such thing', '');
    if (!/"type":"(number|integer)"|"const":\d|^\{\}$/.test(words)) candidates.push(12.5);
    if (!/"type":"boolean"|^\{\}$/.test(words)) candidates.push(true);
    if (!/"type":"object"|^\{\}$/.test(words)) candidates.push({ a: 1 });
    if (!/"type":"array"|^\{\}$/.test(words)) candidates.push([5]);
    if (Array.isArray(schema['enum'])) candidates.push('NO_SUCH_WORD');
    if (typeof schema['maxLength'] === 'number') candidates.push('x'.repeat(schema['maxLength'] + 1));
    const least = schema['minLength'];
    if (typeof least === 'number' && least > 0) candidates.push('x'.repeat(least - 1));
    if (typeof schema['minimum'] === 'number') candidates.push(schema['minimum'] - 1);
    if (typeof schema['maximum'] === 'number') candidates.push(schema['maximum'] + 1);
    return candidates.length === 0 ? undefined : random.pick(candidates);
  }

  return {
    fitting: (schema, name) => fitting(schema, name),
    unfitting,
    hostile: () => random.pick(HOSTILE_VALUES),
  };
}

/** Only its examples are sure to be right. */
function isGrammar(schema: Schema): boolean {
  return typeof schema['pattern'] === 'string' || schema['type'] === 'string';
}

export function uuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.integer(0, 15).toString(16)).join('');
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
}
