/** A device template of what somebody found at a device. Pure. */
import { typedNumber } from '../typed-number.ts';

/** Units that the library's templates have; a device in kWh has the factor 1000. */
export const UNITS = ['', 'W', 'Wh', 'V', 'A', 'Hz', 'Cel', '%', 'var', 'VA'] as const;

/** Parts of the site, and what of each of them a value may be. */
export const ROLES = ['grid', 'pv', 'battery', 'load', 'ev_charger', 'heat_pump', 'generator'] as const;
type Role = (typeof ROLES)[number];
type Use = 'power' | 'forward' | 'reverse' | 'soc';
export type Part = '' | `${Role} ${Use}`;

/** Uses of a role: only the grid and a battery count both ways. */
export const usesOf = (role: Role): readonly Use[] =>
  role === 'battery'
    ? ['power', 'forward', 'reverse', 'soc']
    : role === 'grid'
      ? ['power', 'forward', 'reverse']
      : ['power', 'forward'];

const UNIT_OF: Readonly<Record<Use, string>> = { power: 'W', forward: 'Wh', reverse: 'Wh', soc: '%' };

/** Whether a value in this unit may be the part; one without a unit is in that of the part. */
export const isInUnitOf = (part: Part, unit: string): boolean =>
  part === '' || unit === '' || UNIT_OF[part.split(' ')[1] as Use] === unit;

/** Meaning and name of a value, as typed. */
export interface Meaning {
  factor: string;
  title: string;
  unit: string;
  part: Part;
}

/** Names of the device as a whole, as typed. */
export interface TemplateNames {
  name: string;
  maker: string;
  category: string;
}

/** A value as a template has it. */
interface FoundValue {
  meaning: Meaning;
  type: 'float' | 'string' | 'boolean';
  /** Where it comes from: `input: 12`, `as: u32`. */
  source: readonly string[];
}

/** The factor of a value; undefined: no number, or 0, which would lose the value. */
export function factorOf(factor: string): number | undefined {
  const number = factor.trim() === '' ? 1 : typedNumber(factor);
  return number === 0 ? undefined : number;
}

export const isNamed = ({ title, factor }: Meaning): boolean =>
  title.trim() !== '' && factorOf(factor) !== undefined;

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

/** A template as YAML. @param connection its lines, beside the values */
export function wholeTemplate(
  { name, maker, category }: TemplateNames,
  { source, connection }: { source: string; connection: readonly string[] },
  values: readonly FoundValue[],
): string {
  const named = namedValues(values);
  const roles = rolesOf(named);
  const title = quoted(name);
  return [
    'template: device/1',
    `name: ${title}`,
    `maker: ${quoted(maker)}`,
    `products: [${title}]`,
    `category: ${category}`,
    `sources: [${source}]`,
    'verified: one source',
    ...connection,
    'values:',
    ...named.map(([attribute, value]) => `  ${attribute}: { ${valueText(value)} }`),
    ...(roles.length > 0 ? ['roles:', ...roles.map((role) => `  - { ${role} }`)] : []),
    '',
  ].join('\n');
}

function namedValues(values: readonly FoundValue[]): [name: string, value: FoundValue][] {
  const taken = new Set<string>();
  return values.map((value) => {
    const name = nameOf(value.meaning.title, taken);
    taken.add(name);
    return [name, value];
  });
}

function valueText({ meaning: { title, unit, factor }, type, source }: FoundValue): string {
  const scale = factorOf(factor) ?? 1;
  const isNumber = type === 'float';
  return [
    `name: ${quoted(title)}`,
    `type: ${type}`,
    ...(isNumber && unit !== '' ? [`unit: ${quoted(unit)}`] : []),
    'property: false',
    ...source,
    ...(isNumber && scale !== 1 ? [`scale: ${scale}`] : []),
  ].join(', ');
}

/** A role for each power, so that two strings of a solar system are two; counters go to the first that lacks them. */
function rolesOf(named: readonly (readonly [name: string, value: FoundValue])[]): string[] {
  const roles: { role: string; uses: Map<string, string> }[] = [];
  for (const [name, { meaning, type }] of named) {
    const [role = '', use = ''] = meaning.part.split(' ');
    if (role === '' || type !== 'float' || !isInUnitOf(meaning.part, meaning.unit)) continue;
    const free = roles.find((one) => one.role === role && !one.uses.has(use));
    if (free) free.uses.set(use, name);
    else roles.push({ role, uses: new Map([[use, name]]) });
  }
  return roles.map(({ role, uses }) =>
    [`role: ${role}`, ...[...uses].map(([use, name]) => `${use}: ${name}`)].join(', '),
  );
}

/** A text of YAML; control characters would be refused. */
export const quoted = (text: string): string => JSON.stringify(text.replaceAll(/\p{C}/gu, ' ').trim() || '-');
