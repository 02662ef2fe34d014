/** A device template of what somebody found in the register browser. Pure. */
import { registersOf, valueOfWords } from '../../lib/register-words.ts';
import { factorOf, isNamed, type Meaning, type TemplateNames, wholeTemplate } from './template-text.ts';

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

/** Function → the key of a template. */
const TABLES = { HOLDING: 'holding', INPUT: 'input', COIL: 'coil', DISCRETE: 'discrete' } as const;
type RegisterFunction = keyof typeof TABLES;
export const FUNCTIONS = Object.keys(TABLES) as RegisterFunction[];

/** One value, as it is typed. */
export interface RegisterRow extends Meaning {
  key: number;
  function: RegisterFunction;
  address: string;
  type: WordType;
  isLowFirst: boolean;
}

const ADDRESSES = 65_536;

/** Coils and discrete inputs are on or off. */
export const isBit = ({ function: name }: Pick<RegisterRow, 'function'>): boolean =>
  name === 'COIL' || name === 'DISCRETE';

export const isNumber = (row: Pick<RegisterRow, 'function' | 'type'>): boolean =>
  !isBit(row) && !row.type.startsWith('string');

/** Registers that the value takes. */
export const countOf = (row: Pick<RegisterRow, 'function' | 'type'>): number =>
  isBit(row) ? 1 : registersOf(row.type);

/** Undefined: what is typed is no register, or the value ends behind the last one. */
export function registerOf(row: Pick<RegisterRow, 'function' | 'address' | 'type'>): number | undefined {
  const typed = row.address.trim();
  const register = /^\d{1,5}$/.test(typed) ? Number(typed) : ADDRESSES;
  return register + countOf(row) <= ADDRESSES ? register : undefined;
}

/** The value that the words mean; undefined while the row is not complete. */
export function valueOf(
  row: Pick<RegisterRow, 'function' | 'type' | 'isLowFirst' | 'factor'>,
  words: readonly number[],
): number | string | undefined {
  if (words.length !== countOf(row)) return undefined;
  if (isBit(row)) return words[0];
  const factor = factorOf(row.factor);
  if (factor === undefined) return undefined;
  const value = valueOfWords(words, row.type, row.isLowFirst);
  // Rounds away digits that come from decimal factors and were not measured.
  return typeof value === 'string' ? value : Number((Number(value) * factor).toPrecision(12));
}

/** Whether a template can be made of the row. */
export const isComplete = (row: RegisterRow): boolean => isNamed(row) && registerOf(row) !== undefined;

/** The content of a template beside its values. */
interface Place {
  /** Where the registers were read: `tcp://192.168.1.20:502`. */
  uri: string;
  unitId: number;
}

/** The template of all complete rows, as YAML. */
export const templateText = (
  { uri, unitId, ...names }: TemplateNames & Place,
  rows: readonly RegisterRow[],
): string =>
  wholeTemplate(
    names,
    {
      source: 'read at the device with the register browser',
      connection: [`modbus: { ${connectionText(uri, unitId)} }`],
    },
    rows.filter(isComplete).map((row) => ({
      meaning: row,
      type: isBit(row) ? 'boolean' : isNumber(row) ? 'float' : 'string',
      source: sourceOf(row),
    })),
  );

function sourceOf(row: RegisterRow): string[] {
  const place = `${TABLES[row.function]}: ${registerOf(row) ?? 0}`;
  if (isBit(row)) return [place];
  const isSwapped = isNumber(row) && row.isLowFirst && countOf(row) > 1;
  return [place, `as: ${row.type}`, ...(isSwapped ? ['word_order: low_first'] : [])];
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
