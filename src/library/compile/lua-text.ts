/** Writes data as a Lua table: the plan of a template, in a form that people can read. */

const LINE_MAX = 110;

/** Data of a Lua table. */
export type Data =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | readonly Data[]
  | { readonly [key: string]: Data };

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', "'": "\\'", '\n': '\\n' };

function textOf(value: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is escaped
  const escaped = value.replaceAll(/['\\\u0000-\u001f\u007f]/g, (character) => {
    return ESCAPES[character] ?? `\\${String(character.charCodeAt(0)).padStart(3, '0')}`;
  });
  return `'${escaped}'`;
}

const keyOf = (name: string): string =>
  /^[A-Za-z_]\w*$/.test(name) && !RESERVED.has(name) ? name : `[${textOf(name)}]`;
const RESERVED = new Set(
  'and break do else elseif end false for function goto if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);

/** Members without a value are left out; short tables stand on one line. */
export function luaText(value: Data, indent = ''): string {
  if (typeof value === 'string') return textOf(value);
  if (value === null) return 'nil';
  if (typeof value !== 'object') return String(value);
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? (value as readonly Data[]).map((item) => luaText(item, inner))
    : Object.entries(value as Record<string, Data>)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${keyOf(name)} = ${luaText(item, inner)}`);
  if (parts.length === 0) return '{}';
  const line = `{ ${parts.join(', ')} }`;
  if (line.length + indent.length <= LINE_MAX && !line.includes('\n')) return line;
  return `{\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}}`;
}
