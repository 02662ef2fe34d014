/**
 * Units of measurement: a table of atoms with metric prefixes, `.` and `/`, integer exponents and
 * `{annotations}`, after the Unified Code for Units of Measure (UCUM), with the spellings that device
 * profiles use as canonical ones. Source: docs/interface/blueprints.md#units.
 */

export interface Unit {
  /** Canonical code; two units are the same when their codes are. */
  code: string;
  symbol: string;
  displayName: string;
  /** Exponents of base quantities as text; units of one dimension can be scaled into each other. */
  dimension: string;
}

interface Atom {
  displayName: string;
  /** `kg.m2.s-3`; names outside the base quantities keep kinds apart that must not be mixed. */
  dimension: string;
  metric: boolean;
}

/** `code: display name | dimension`, metric ones first. */
const METRIC_ATOMS: Record<string, string> = {
  m: 'metre | m',
  g: 'gram | kg',
  A: 'ampere | A',
  K: 'kelvin | K',
  mol: 'mole | mol',
  cd: 'candela | cd',
  s: 'second | s',
  V: 'volt | kg.m2.s-3.A-1',
  W: 'watt | kg.m2.s-3',
  Wh: 'watt hour | kg.m2.s-2',
  Ah: 'ampere hour | A.s',
  VA: 'volt-ampere | apparent',
  VAh: 'volt-ampere hour | apparent.s',
  VAR: 'volt-ampere reactive | reactive',
  VARh: 'volt-ampere reactive hour | reactive.s',
  J: 'joule | kg.m2.s-2',
  N: 'newton | kg.m.s-2',
  Hz: 'hertz | s-1',
  Pa: 'pascal | kg.m-1.s-2',
  bar: 'bar | kg.m-1.s-2',
  Ohm: 'ohm | kg.m2.s-3.A-2',
  S: 'siemens | kg-1.m-2.s3.A2',
  C: 'coulomb | A.s',
  F: 'farad | kg-1.m-2.s4.A2',
  H: 'henry | kg.m2.s-2.A-2',
  T: 'tesla | kg.s-2.A-1',
  Wb: 'weber | kg.m2.s-2.A-1',
  lm: 'lumen | cd',
  lx: 'lux | cd.m-2',
  L: 'litre | m3',
  Nl: 'normal litre | normal',
  t: 'tonne | kg',
  bit: 'bit | bit',
  By: 'byte | bit',
  bps: 'bits per second | bit.s-1',
  eV: 'electronvolt | kg.m2.s-2',
  rad: 'radian | angle',
  Cel: 'degree Celsius | K',
};

const OTHER_ATOMS: Record<string, string> = {
  '1': 'number | ',
  '%': 'percent | ',
  '[ppm]': 'parts per million | ',
  '[ppb]': 'parts per billion | ',
  '%LEL': 'percent of the lower explosive limit | explosive',
  '[degF]': 'degree Fahrenheit | K',
  deg: 'degree | angle',
  min: 'minute | s',
  h: 'hour | s',
  d: 'day | s',
  wk: 'week | s',
  mo: 'month | s',
  a: 'year | s',
  rpm: 'revolutions per minute | s-1',
  dB: 'decibel | level',
  dBm: 'decibel-milliwatt | level',
  dBA: 'decibel (A) | level',
  atm: 'atmosphere | kg.m-1.s-2',
  '[psi]': 'pound per square inch | kg.m-1.s-2',
  '[in_i]': 'inch | m',
  '[ft_i]': 'foot | m',
  '[pH]': 'pH | acidity',
  har: 'hectare | m2',
  Nm3: 'normal cubic metre | normal',
};

const PREFIXES: Record<string, string> = {
  Y: 'yotta',
  Z: 'zetta',
  E: 'exa',
  P: 'peta',
  T: 'tera',
  G: 'giga',
  M: 'mega',
  k: 'kilo',
  h: 'hecto',
  da: 'deca',
  d: 'deci',
  c: 'centi',
  m: 'milli',
  u: 'micro',
  n: 'nano',
  p: 'pico',
  f: 'femto',
  a: 'atto',
  Ki: 'kibi',
  Mi: 'mebi',
  Gi: 'gibi',
};

const SYMBOLS: Record<string, string> = {
  Cel: '°C',
  '[degF]': '°F',
  '[ppm]': 'ppm',
  '[ppb]': 'ppb',
  deg: '°',
};

/** Other spellings of the same unit. */
const SYNONYMS: Record<string, string> = { l: 'L', var: 'VAR', NL: 'Nl', varh: 'VARh', pct: '%' };

const ATOMS = new Map<string, Atom>([
  ...Object.entries(METRIC_ATOMS).map(([code, text]) => [code, atomOf(text, true)] as const),
  ...Object.entries(OTHER_ATOMS).map(([code, text]) => [code, atomOf(text, false)] as const),
]);

const COMPONENT = /^((?:\[[^[\]{}]+\]|[^[\]{}0-9+-])+)?([+-]?\d{1,3})?(\{[^{}]{0,64}\})?$/;
const LENGTH_MAX = 64;

/** The unit of a code; `undefined` when the code is not one. */
export function parseUnit(code: string): Unit | undefined {
  if (code.length === 0 || code.length > LENGTH_MAX) return undefined;
  const parts = joined(code).split(/([./])/);
  const exponents = new Map<string, number>();
  const names: string[] = [];
  let canonical = '';
  let sign = 1;
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1) {
      sign = part === '/' ? -1 : 1;
      canonical += part;
      continue;
    }
    // A code may begin with a division: `/min`.
    if (part === '' && index === 0 && parts.length > 1) continue;
    const component = parseComponent(part);
    if (component === undefined) return undefined;
    addDimension(exponents, component.dimension, sign * component.exponent);
    canonical += component.code;
    names.push(component.displayName);
  }
  return {
    code: canonical,
    symbol: SYMBOLS[canonical] ?? canonical,
    displayName: names.length === 1 ? (names[0] ?? canonical) : canonical,
    dimension: dimensionText(exponents),
  };
}

/** The canonical code of a unit; what is no unit stays as it is. */
export const canonicalUnit = (code: string): string => parseUnit(code)?.code ?? code;

/** `W.h` is written `Wh` in this set of codes; the same for ampere, volt-ampere and reactive hours. */
function joined(code: string): string {
  return code.replace(/(W|A|VA|VAR|var)\.h(?![A-Za-z])/g, '$1h');
}

function parseComponent(
  text: string,
): { code: string; displayName: string; dimension: string; exponent: number } | undefined {
  const match = COMPONENT.exec(text);
  if (!match || text === '') return undefined;
  const [, name, digits = '', annotation = ''] = match;
  if (name === undefined) {
    // A bare number or annotation counts as a number.
    return digits === '' || Number(digits) > 0
      ? { code: text, displayName: ATOMS.get(text)?.displayName ?? text, dimension: '', exponent: 1 }
      : undefined;
  }
  const atom = atomNamed(name);
  const exponent = digits === '' ? 1 : Number(digits);
  if (atom === undefined || exponent === 0) return undefined;
  const decorated = digits !== '' || annotation !== '';
  const code = `${atom.code}${digits}${annotation}`;
  return { code, displayName: decorated ? code : atom.displayName, dimension: atom.dimension, exponent };
}

function atomNamed(name: string): (Atom & { code: string }) | undefined {
  const code = SYNONYMS[name] ?? name;
  const exact = ATOMS.get(code);
  if (exact) return { ...exact, code };
  for (const length of [2, 1]) {
    const prefix = PREFIXES[name.slice(0, length)];
    if (prefix === undefined) continue;
    const rest = SYNONYMS[name.slice(length)] ?? name.slice(length);
    const atom = ATOMS.get(rest);
    if (atom?.metric)
      return {
        ...atom,
        displayName: `${prefix}${atom.displayName}`,
        code: `${name.slice(0, length)}${rest}`,
      };
  }
  return undefined;
}

function atomOf(text: string, metric: boolean): Atom {
  const [displayName = '', dimension = ''] = text.split(' | ');
  return { displayName: displayName.trim(), dimension: dimension.trim(), metric };
}

function addDimension(exponents: Map<string, number>, dimension: string, factor: number): void {
  for (const part of dimension.split('.')) {
    const [, base, exponent = '1'] = /^([A-Za-z]+)(-?\d+)?$/.exec(part) ?? [];
    if (base !== undefined) exponents.set(base, (exponents.get(base) ?? 0) + factor * Number(exponent));
  }
}

function dimensionText(exponents: Map<string, number>): string {
  return [...exponents]
    .filter(([, exponent]) => exponent !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([base, exponent]) => `${base}${exponent}`)
    .join('.');
}
