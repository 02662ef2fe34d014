/** A device template of fields in a JSON answer. Pure. */
import {
  factorOf,
  isNamed,
  type Meaning,
  quoted,
  type TemplateNames,
  wholeTemplate,
} from './template-text.ts';

/** Names and positions on the way to a field. */
export type JsonPath = readonly (string | number)[];
export type Leaf = string | number | boolean | null;

/** A field that somebody chose. */
export interface JsonRow extends Meaning {
  path: JsonPath;
  /** The value when it was chosen; its type is that of the attribute. */
  leaf: Leaf;
}

const PLAIN_KEY = /^[A-Za-z_][\w:-]*$/;

/** `emeters[0].power`, as templates have it; undefined: a template cannot name the field. */
export function pathText(path: JsonPath): string | undefined {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (PLAIN_KEY.test(part)) text += text === '' ? part : `.${part}`;
    else if (part !== '' && !/["'\]{}\p{C}]/u.test(part)) text += `["${part}"]`;
    else return undefined;
  }
  return text === '' ? '.' : text;
}

/** Undefined: the answer has nothing there any more. */
export function leafAt(content: unknown, path: JsonPath): Leaf | undefined {
  let value = content;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return typeof value === 'object' && value !== null ? undefined : (value as Leaf | undefined);
}

/** Many devices send their numbers as texts, which templates read as numbers. */
export const isNumber = (leaf: Leaf): boolean =>
  typeof leaf === 'number' || (typeof leaf === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(leaf));

/** The value with its factor and unit. */
export function shownLeaf(row: Pick<JsonRow, 'factor' | 'unit'>, leaf: Leaf | undefined): string {
  if (leaf === undefined || leaf === null) return '–';
  const factor = factorOf(row.factor);
  if (!isNumber(leaf) || factor === undefined) return String(leaf);
  return `${withMinus(String(Number((Number(leaf) * factor).toPrecision(12))))} ${row.unit}`.trim();
}

/** A number of a device as the console writes numbers. */
export const withMinus = (number: string): string => number.replace(/^-/, '−');

/** Host and port of what was read, as the form of a device has it. */
export const addressOf = (url: string): string => parsed(url)?.host ?? '';

/** Undefined while the address is being typed; the oldest browsers have no `URL.parse`. */
function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/** The template of all fields that have a name, as YAML. */
export function jsonTemplateText(
  { url, ...names }: TemplateNames & { url: string },
  rows: readonly JsonRow[],
): string {
  const { protocol, port, pathname, search } = parsed(url) ?? new URL('http://0.0.0.0/');
  // A brace would be a setting of the connection.
  const path = `${pathname}${search}`.replaceAll('{', '%7B').replaceAll('}', '%7D');
  return wholeTemplate(
    names,
    {
      source: 'read at the device with the JSON browser',
      connection: [
        `http: { scheme: ${protocol === 'https:' ? 'https' : 'http'}${port === '' ? '' : `, port: ${port}`} }`,
        `requests: { answer: { get: ${quoted(path)} } }`,
      ],
    },
    rows.filter(isNamed).map((row) => ({ meaning: row, type: typeOf(row.leaf), source: sourceOf(row) })),
  );
}

const typeOf = (leaf: Leaf): 'float' | 'boolean' | 'string' =>
  isNumber(leaf) ? 'float' : typeof leaf === 'boolean' ? 'boolean' : 'string';

const sourceOf = ({ path }: JsonRow): string[] => ['from: answer', `path: ${quoted(pathText(path) ?? '.')}`];
