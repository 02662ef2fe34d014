/** What a trial of a template shows: each value with its unit, where it comes from, and the words that were there. */
import {
  fieldOf,
  type LibraryBooks,
  namesNeeded,
  operationOf,
  type Template,
  type TemplateValue,
} from '#library';
import { hex, type RegisterMemory } from './register-memory.ts';

export interface Row {
  name: string;
  /** Empty: it has none. */
  value: string;
  unit: string;
  /** Where it comes from: `input 52`, `sum of a, b`, `status: power`. */
  source: string;
  /** Registers in hex in the order of the wire; empty until the device has sent them. */
  raw: string;
  /** What an image says that it must be, where it differs. */
  expected: string;
}

export interface Seen {
  template: Template;
  books: LibraryBooks;
  /** Declared attribute → its unit. */
  units: ReadonlyMap<string, string>;
  /** Attribute → value. */
  values: Readonly<Record<string, unknown>>;
  memory: RegisterMemory;
  /** Settings of the connection. */
  settings: Readonly<Record<string, unknown>>;
  expect?: Readonly<Record<string, unknown>> | undefined;
}

/** Rows in the order of the template; internal values as far as their words were read. */
export function rowsOf(seen: Seen): Row[] {
  const { template, units, values, expect = {} } = seen;
  const rows = Object.entries(template.values).flatMap(([name, value]): Row[] => {
    const { source, raw } = sourceOf(value, seen);
    const isDeclared = units.has(name);
    if (!isDeclared && (value.internal !== true || raw === '')) return [];
    return [
      {
        name: isDeclared ? name : `${name} (internal)`,
        value: shown(values[name]),
        unit: values[name] === undefined ? '' : (units.get(name) ?? ''),
        source,
        raw,
        expected: '',
      },
    ];
  });
  const known = new Set(Object.keys(template.values));
  const others = Object.keys(expect).filter((name) => !known.has(name));
  const all = [
    ...rows,
    ...others.map((name) => ({
      name,
      value: shown(values[name]),
      unit: '',
      source: '',
      raw: '',
      expected: '',
    })),
  ];
  return all.map((row) => ({ ...row, expected: differing(row.name, values, expect) }));
}

/** Empty: it is what it must be, or nobody says what that is. */
function differing(
  name: string,
  values: Readonly<Record<string, unknown>>,
  expect: Readonly<Record<string, unknown>>,
): string {
  if (!Object.hasOwn(expect, name)) return '';
  const wanted = shown(expect[name]);
  if (shown(sixDigits(expect[name])) === shown(sixDigits(values[name]))) return '';
  return wanted === '' ? 'no value' : wanted;
}

/** Floats of 32 bits have seven digits, of which scaling may cost one. */
const sixDigits = (value: unknown): unknown =>
  typeof value === 'number' ? Number(value.toPrecision(6)) : value;

/** For people: six digits, and whole counters. */
export const rounded = (value: unknown): unknown =>
  typeof value === 'number' && Math.abs(value) >= 1e5 ? Math.round(value) : sixDigits(value);

function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  const short = rounded(value);
  return typeof short === 'string' ? short : JSON.stringify(short);
}

function sourceOf(
  value: TemplateValue,
  { template, books, memory, settings }: Seen,
): { source: string; raw: string } {
  const operation = operationOf(value);
  if (operation !== undefined)
    return {
      source: operation === 'constant' ? 'constant' : `${operation} of ${namesNeeded(value).join(', ')}`,
      raw: '',
    };
  if ('from' in value) return { source: `${value.from}: ${value.path}`, raw: '' };
  if ('obis' in value) return { source: `obis ${value.obis}`, raw: '' };
  const field = fieldOf(value, template, books.sunSpec);
  if (typeof field === 'string') return { source: field, raw: '' };
  const unit = typeof field.unit === 'number' ? field.unit : settings[field.unit ?? 'unit_id'];
  const found = memory.wordsOf(field, Number(unit));
  const place = 'sunspec' in value ? `sunspec ${value.sunspec}` : `${field.kind} ${field.first}`;
  return { source: place, raw: found ? found.words.map(hex).join(' ') : '' };
}

const COLUMNS = ['value', '', 'unit', 'source', 'raw', 'expected'];

/** Columns as wide as what is in them; `expected` only where something differs. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, value, unit, source, raw, expected }) => [
    name,
    value === '' ? '-' : value,
    unit,
    source,
    raw,
    expected,
  ]);
  const isWanted = (column: number): boolean => column < 2 || lines.some((line) => line[column] !== '');
  const shownColumns = COLUMNS.map((_, column) => column).filter(isWanted);
  const all = [COLUMNS, ...lines].map((line) => shownColumns.map((column) => line[column] ?? ''));
  const widths = shownColumns.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all
    .map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
