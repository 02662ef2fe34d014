/** A device template of what somebody found in the register browser. Pure. */
import { registersOf, valueOfWords } from '../../lib/register-words.ts';
import { typedNumber } from '../typed-number.ts';

/** How the words of registers become a number or a text; `string8` takes eight registers. */
export const WORD_TYPES = [
  'u16',
  'i16',
  'u32',
  'i32',
  'u64',
  'i64',
  'f32',
  'f64',
  'string8',
  'string16',
] as const;
type WordType = (typeof WORD_TYPES)[number];

/** Units that the library's templates have; a device in kWh has the factor 1000. */
export const UNITS = ['', 'W', 'Wh', 'V', 'A', 'Hz', 'Cel', '%', 'var', 'VA'] as const;

/** Parts of the site, and what of each of them a value may be. */
export const ROLES = ['grid', 'pv', 'battery', 'load', 'ev_charger', 'heat_pump', 'generator'] as const;
type Role = (typeof ROLES)[number];
type Use = 'power' | 'forward' | 'reverse' | 'soc';
export type Part = '' | `${Role} ${Use}`;

/** What a role has: only the grid and a battery count both ways. */
export const usesOf = (role: Role): readonly Use[] =>
  role === 'battery'
    ? ['power', 'forward', 'reverse', 'soc']
    : role === 'grid'
      ? ['power', 'forward', 'reverse']
      : ['power', 'forward'];

/** One value, as it is typed. */
export interface RegisterRow {
  key: number;
  function: 'INPUT' | 'HOLDING';
  address: string;
  type: WordType;
  isLowFirst: boolean;
  factor: string;
  title: string;
  unit: string;
  part: Part;
}

/** What a template says beyond its values. */
interface TemplateHead {
  name: string;
  maker: string;
  category: string;
  /** Where the registers were read: `tcp://192.168.1.20:502`. */
  uri: string;
  unitId: number;
}

const ADDRESSES = 65_536;

export const isText = (type: WordType): boolean => type.startsWith('string');

/** Undefined: what is typed is no register, or the value ends behind the last one. */
export function registerOf({ address, type }: Pick<RegisterRow, 'address' | 'type'>): number | undefined {
  const register = /^\d{1,5}$/.test(address.trim()) ? Number(address) : ADDRESSES;
  return register + registersOf(type) <= ADDRESSES ? register : undefined;
}

/** What the value is multiplied by; undefined: no number, or 0, which would lose the value. */
export function factorOf(factor: string): number | undefined {
  const number = factor.trim() === '' ? 1 : typedNumber(factor);
  return number === 0 ? undefined : number;
}

/** The value that the words mean; undefined while the row is not complete. */
export function valueOf(
  row: Pick<RegisterRow, 'type' | 'isLowFirst' | 'factor'>,
  words: readonly number[],
): number | string | undefined {
  const factor = factorOf(row.factor);
  if (words.length !== registersOf(row.type) || factor === undefined) return undefined;
  const value = valueOfWords(words, row.type, row.isLowFirst);
  // Decimal factors leave digits behind that nobody measured.
  return typeof value === 'string' ? value : Number((Number(value) * factor).toPrecision(12));
}

/** Whether a template can be made of the row. */
export const isComplete = (row: RegisterRow): boolean =>
  row.title.trim() !== '' && registerOf(row) !== undefined && factorOf(row.factor) !== undefined;

const NAME_LENGTH_MAX = 40;
/** Names that devices say something else with, and words of YAML. */
const RESERVED: ReadonlySet<string> = new Set(
  'alerts alert_details timestamp vendor model null true false yes no on off y n'.split(' '),
);

/** `Power of the Grid` → `power_of_the_grid`. */
function nameOf(title: string, taken: ReadonlySet<string>): string {
  const plain = title
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, NAME_LENGTH_MAX)
    .replaceAll(/^_|_$/g, '');
  const base = /^[a-z]/.test(plain) && !RESERVED.has(plain) ? plain : `value_${plain}`.replace(/_$/, '');
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
  return name;
}

/** The template of all complete rows, as YAML. */
export function templateText(head: TemplateHead, rows: readonly RegisterRow[]): string {
  const { name, maker, category, uri, unitId } = head;
  const named = namedRows(rows.filter(isComplete));
  const roles = rolesOf(named);
  const title = quoted(name);
  return [
    'template: device/1',
    `name: ${title}`,
    `maker: ${quoted(maker)}`,
    `products: [${title}]`,
    `category: ${category}`,
    'sources: [read at the device with the register browser]',
    'verified: one source',
    `modbus: { ${connectionText(uri, unitId)} }`,
    'values:',
    ...named.map(([attribute, row]) => `  ${attribute}: { ${rowText(row)} }`),
    ...(roles.length > 0 ? ['roles:', ...roles.map((role) => `  - { ${role} }`)] : []),
    '',
  ].join('\n');
}

function namedRows(rows: readonly RegisterRow[]): [name: string, row: RegisterRow][] {
  const taken = new Set<string>();
  return rows.map((row) => {
    const name = nameOf(row.title, taken);
    taken.add(name);
    return [name, row];
  });
}

const PLAIN_PORT = 502;
const PORT_MAX = 65_535;
/** Scheme and port of an address; browsers of 2023 have no `URL.parse`. */
const ADDRESS = /^([a-z+]+:)\/\/(?:\[[^\]]*\]|[^/:?]*)(?::(\d+))?/i;

function connectionText(uri: string, unit: number): string {
  const [, scheme = 'tcp:', port = ''] = ADDRESS.exec(uri.trim()) ?? [];
  const protocol = scheme.toLowerCase();
  const transport = protocol === 'port:' ? 'rtu' : protocol === 'tcp:' ? 'tcp' : 'rtu_over_tcp';
  const isPort = Number(port) > 0 && Number(port) <= PORT_MAX;
  const isOther = transport === 'tcp' && isPort && Number(port) !== PLAIN_PORT;
  return `transports: [${transport}]${isOther ? `, port: ${Number(port)}` : ''}, unit: ${unit}`;
}

function rowText(row: RegisterRow): string {
  const { type, title, unit, isLowFirst } = row;
  const factor = factorOf(row.factor) ?? 1;
  const isNumber = !isText(type);
  return [
    `name: ${quoted(title)}`,
    `type: ${isNumber ? 'float' : 'string'}`,
    isNumber && unit !== '' && `unit: ${quoted(unit)}`,
    'property: false',
    `${row.function === 'INPUT' ? 'input' : 'holding'}: ${registerOf(row) ?? 0}`,
    `as: ${type}`,
    isNumber && isLowFirst && registersOf(type) > 1 && 'word_order: low_first',
    isNumber && factor !== 1 && `scale: ${factor}`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

/** A role for each power, so that two strings of a solar system are two; counters go to the first that lacks them. */
function rolesOf(named: readonly (readonly [name: string, row: RegisterRow])[]): string[] {
  const roles: { role: string; uses: Map<string, string> }[] = [];
  for (const [name, { part, type }] of named) {
    const [role = '', use = ''] = part.split(' ');
    if (role === '' || isText(type)) continue;
    const free = roles.find((one) => one.role === role && !one.uses.has(use));
    if (free) free.uses.set(use, name);
    else roles.push({ role, uses: new Map([[use, name]]) });
  }
  return roles.map(({ role, uses }) =>
    [`role: ${role}`, ...[...uses].map(([use, name]) => `${use}: ${name}`)].join(', '),
  );
}

/** A text of YAML; control characters would be refused. */
const quoted = (text: string): string => JSON.stringify(text.replaceAll(/\p{C}/gu, ' ').trim() || '-');
