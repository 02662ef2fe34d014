/** Templates applied to a message or a value. The work is bounded by the template and the texts given. Pure. */
import { repairedJson } from '../../lib/repaired-json.ts';
import { type Expression, parseTemplate, type Part } from './template-parser.ts';

/** Values in templates: JSON, and undefined for a missing one. */
type TemplateValue = unknown;

/** A template that was read. */
interface Template {
  /** The text that it makes; undefined when there is no value, for instance because a message lacks it. */
  render(names: Readonly<Record<string, TemplateValue>>): string | NoNumber | undefined;
}

/** No value of a device is longer. */
const TEXT_MAX = 65_536;

/** There is no value for this message. */
class NoValue extends Error {
  /** The value that should be a number; undefined: it was missing. */
  readonly wrong: TemplateValue;

  constructor(wrong?: TemplateValue) {
    super();
    this.wrong = wrong;
  }
}

/** Result of a template that needed a number and got something else, such as a list. */
export class NoNumber {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** @param names that it may use @throws TemplateFault */
export function readTemplate(text: string, names: readonly string[]): Template {
  const parts = parseTemplate(text, names);
  return {
    render: (given) => {
      try {
        const text = rendered(parts, { ...given });
        return text.trim();
      } catch (error) {
        if (!(error instanceof NoValue)) throw error;
        return (error.wrong ?? '') === '' ? undefined : new NoNumber(error.wrong);
      }
    },
  };
}

/** A template for messages of a device: `value` is the text, `value_json` what it says as JSON. @throws TemplateFault */
export function readValueTemplate(text: string): (payload: string) => string | NoNumber | undefined {
  const template = readTemplate(text, ['value', 'value_json', 'this']);
  return (payload) => template.render({ value: payload, value_json: jsonOf(payload) });
}

/** JSON, or what small devices write in its place; undefined for anything else. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const repaired = repairedJson(text);
    return repaired && JSON.parse(repaired.text);
  }
}

type Names = Record<string, TemplateValue>;

function rendered(parts: readonly Part[], names: Names): string {
  let text = '';
  for (const part of parts) {
    if (part.kind === 'text') text += part.text;
    else if (part.kind === 'output') text += textOf(valueOf(part.expression, names));
    else if (part.kind === 'set') names[part.name] = valueOf(part.value, names);
    else {
      const branch = part.branches.find(({ condition }) => !condition || isTrue(valueOf(condition, names)));
      if (branch) text += rendered(branch.parts, names);
    }
    if (text.length > TEXT_MAX) throw new NoValue();
  }
  return text;
}

function valueOf(expression: Expression, names: Names): TemplateValue {
  const of = (inner: Expression): TemplateValue => valueOf(inner, names);
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'name':
      return names[expression.name];
    case 'missing':
      return undefined;
    case 'list':
      return expression.items.map(of);
    case 'dictionary':
      return Object.fromEntries(expression.entries.map(([key, value]) => [textOf(of(key)), of(value)]));
    case 'member':
      return memberOf(of(expression.of), of(expression.key));
    case 'choice':
      if (isTrue(of(expression.condition))) return of(expression.chosen);
      return expression.otherwise && of(expression.otherwise);
    case 'unary':
      if (expression.operator === 'not') return !isTrue(of(expression.of));
      return (expression.operator === '-' ? -1 : 1) * numberOf(of(expression.of));
    case 'binary':
      return combined(expression.operator, of(expression.left), () => of(expression.right));
    case 'test':
      return tested(expression.name, of(expression.of), expression.given.map(of)) !== expression.isNegated;
    case 'filter':
      return applied(expression.name, of(expression.of), expression.given.map(of));
    case 'call':
      return expression.of
        ? called(expression.name, of(expression.of), expression.given.map(of))
        : applied(expression.name, of(expression.given[0] ?? NOTHING), expression.given.slice(1).map(of));
  }
}

const NOTHING: Expression = { kind: 'literal', value: null };

function memberOf(of: TemplateValue, key: TemplateValue): TemplateValue {
  if (of === undefined || of === null) return undefined;
  if ((typeof of === 'string' || Array.isArray(of)) && typeof key === 'number')
    return of.at(key) as TemplateValue;
  if (typeof of !== 'object') return undefined;
  const name = textOf(key);
  return Object.hasOwn(of, name) ? (of as Record<string, TemplateValue>)[name] : undefined;
}

function combined(operator: string, left: TemplateValue, rightOf: () => TemplateValue): TemplateValue {
  if (operator === 'and') return isTrue(left) ? rightOf() : left;
  if (operator === 'or') return isTrue(left) ? left : rightOf();
  const right = rightOf();
  switch (operator) {
    case '==':
      return isSame(left, right);
    case '!=':
      return !isSame(left, right);
    case 'in':
      return isIn(left, right);
    case 'not in':
      return !isIn(left, right);
    case '~':
      return bounded(textOf(left) + textOf(right));
    case '%':
      if (typeof left === 'string') return printed(left, Array.isArray(right) ? right : [right]);
      break;
    case '+':
      if (typeof left === 'string' && typeof right === 'string') return bounded(left + right);
  }
  return typeof left === 'string' && typeof right === 'string' && ORDERS.has(operator)
    ? ordered(operator, left, right)
    : calculated(operator, numberOf(left), numberOf(right));
}

const ORDERS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);

function ordered<Value extends string | number>(operator: string, left: Value, right: Value): boolean {
  if (operator === '<') return left < right;
  if (operator === '<=') return left <= right;
  return operator === '>' ? left > right : left >= right;
}

/** Without the digits that arithmetic with decimal fractions adds. */
const plain = (value: number): number =>
  Number.isInteger(value) || !Number.isFinite(value) ? value : Number(value.toPrecision(12));

function calculated(operator: string, left: number, right: number): TemplateValue {
  if (ORDERS.has(operator)) return ordered(operator, left, right);
  if (right === 0 && ['/', '//', '%'].includes(operator)) throw new NoValue();
  switch (operator) {
    case '+':
      return plain(left + right);
    case '-':
      return plain(left - right);
    case '*':
      return plain(left * right);
    case '/':
      return plain(left / right);
    case '//':
      return Math.floor(left / right);
    case '%':
      return left - right * Math.floor(left / right);
    default:
      return left ** right;
  }
}

function tested(name: string, of: TemplateValue, given: readonly TemplateValue[]): boolean {
  switch (name) {
    case 'defined':
      return of !== undefined;
    case 'undefined':
      return of === undefined;
    case 'none':
      return of === null;
    case 'number':
      return typeof of === 'number';
    case 'string':
      return typeof of === 'string';
    case 'boolean':
      return typeof of === 'boolean';
    case 'true':
    case 'false':
      return of === (name === 'true');
    case 'mapping':
      return typeof of === 'object' && of !== null && !Array.isArray(of);
    case 'sequence':
    case 'iterable':
      return Array.isArray(of) || typeof of === 'string';
    case 'odd':
      return Math.abs(numberOf(of)) % 2 === 1;
    case 'even':
      return numberOf(of) % 2 === 0;
    case 'in':
      return isIn(of, given[0]);
    case 'ne':
      return !isSame(of, given[0]);
    default:
      return isSame(of, given[0]);
  }
}

function applied(name: string, of: TemplateValue, given: readonly TemplateValue[]): TemplateValue {
  switch (name) {
    case 'float':
      return numberOr(of, given);
    case 'int':
      return integerOf(of, given);
    case 'bool':
      return boolOf(of);
    case 'round':
      return roundOf(numberOf(of), given);
    case 'default':
    case 'd':
      return of === undefined || (isTrue(given[1]) && !isTrue(of)) ? given[0] : of;
    case 'is_defined':
      if (of === undefined) throw new NoValue();
      return of;
    case 'multiply':
      return plain(numberOf(of) * numberOf(given[0]));
    case 'add':
      return plain(numberOf(of) + numberOf(given[0]));
    case 'bitwise_and':
      return numberOf(of) & numberOf(given[0]);
    case 'bitwise_or':
      return numberOf(of) | numberOf(given[0]);
    case 'sum':
      return plain((Array.isArray(of) ? of : []).reduce<number>((sum, item) => sum + numberOf(item), 0));
    case 'join':
      return bounded((Array.isArray(of) ? of : Array.from(textOf(of))).map(textOf).join(textOf(given[0])));
    case 'slice':
      return sliceOf(of, given);
    case 'format':
      return printed(textOf(of), given);
    case 'abs':
      return Math.abs(numberOf(of));
    case 'iif':
      return isTrue(of) ? (given[0] ?? true) : (given[1] ?? false);
    case 'min':
    case 'max':
      return extremeOf(name, Array.isArray(of) ? of : [of, ...given]);
    case 'length':
    case 'count':
      return typeof of === 'string' || Array.isArray(of) ? of.length : Object.keys(of ?? {}).length;
    case 'first':
      return memberOf(of, 0);
    case 'last':
      return memberOf(of, -1);
    case 'from_json':
      return parsed(textOf(of));
    case 'to_json':
    case 'tojson':
      return bounded(JSON.stringify(of ?? null));
    case 'string':
      return textOf(of);
    default:
      return called(name, textOf(of), given);
  }
}

/** Methods, and filters of the same meaning. */
function called(name: string, of: TemplateValue, given: readonly TemplateValue[]): TemplateValue {
  if (name === 'get') return memberOf(of, given[0]) ?? given[1] ?? null;
  if (name === 'keys' || name === 'values')
    return typeof of === 'object' && of !== null ? Object[name](of) : [];
  if (name === 'join') return applied('join', given[0], [of]);
  const text = textOf(of);
  const first = given[0] === undefined ? '' : textOf(given[0]);
  switch (name) {
    case 'upper':
      return text.toUpperCase();
    case 'lower':
      return text.toLowerCase();
    case 'capitalize':
      return capitalized(text);
    case 'title':
      return text.replace(/\p{L}+/gu, capitalized);
    case 'format':
      return formatted(text, given);
    case 'trim':
    case 'strip':
      return text.trim();
    case 'split':
      return first === '' ? text.trim().split(/\s+/) : text.split(first);
    case 'startswith':
      return text.startsWith(first);
    case 'endswith':
      return text.endsWith(first);
    default: {
      // Replacing: each character could become a long text.
      const to = textOf(given[1] ?? '');
      if (first === '' || (text.length / first.length) * to.length > TEXT_MAX) throw new NoValue();
      return text.replaceAll(first, () => to);
    }
  }
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase();

function sliceOf(of: TemplateValue, [first, last]: readonly TemplateValue[]): TemplateValue {
  if (typeof of !== 'string' && !Array.isArray(of)) throw new NoValue();
  return of.slice(numberOf(first), last === undefined ? undefined : numberOf(last));
}

/** `%d`, `%5.1f` and `%s`, with or without width. */
function printed(pattern: string, given: readonly TemplateValue[]): string {
  let place = 0;
  const text = pattern.replace(
    /%(?:%|([0 ]?)(\d{0,2})(?:\.(\d{1,2}))?([a-zA-Z]))/g,
    (whole, zero: string, width: string, digits: string | undefined, kind: string) =>
      whole === '%%' ? '%' : padded(printedOne(given[place++], kind, digits), zero, width),
  );
  return bounded(text);
}

/** `{}`, `{0}` and `{:.1f}` of Python. */
function formatted(pattern: string, given: readonly TemplateValue[]): string {
  let place = 0;
  const text = pattern.replace(
    /\{(\d?)(?::(0?)(\d{0,2})(?:\.(\d{1,2}))?([a-zA-Z]?))?\}/g,
    (_, at: string, zero = '', width = '', digits: string | undefined, kind = '') =>
      padded(printedOne(given[at === '' ? place++ : Number(at)], kind || 's', digits), zero, width),
  );
  return bounded(text);
}

function printedOne(value: TemplateValue, kind: string, digits: string | undefined): string {
  if (kind === 's') return textOf(value);
  if (kind === 'd' || kind === 'i') return String(Math.trunc(numberOf(value)));
  if (kind === 'f' || kind === 'F') return numberOf(value).toFixed(Number(digits ?? 6));
  throw new NoValue();
}

const padded = (text: string, zero: string, width: string): string =>
  text.padStart(Number(width), zero === '0' ? '0' : ' ');

function parsed(text: string): TemplateValue {
  const json = jsonOf(text);
  if (json === undefined) throw new NoValue();
  return json;
}

const ROUNDING: Readonly<Record<string, (value: number) => number>> = { ceil: Math.ceil, floor: Math.floor };

function roundOf(value: number, [digits = 0, method]: readonly TemplateValue[]): number {
  const factor = 10 ** Math.min(15, Math.max(-15, numberOf(digits)));
  const round =
    ROUNDING[textOf(method)] ?? ((exact: number) => Math.sign(exact) * Math.round(Math.abs(exact)));
  return round(value * factor) / factor;
}

function extremeOf(name: 'min' | 'max', items: readonly TemplateValue[]): number {
  const numbers = items.map(numberOf);
  return name === 'min' ? Math.min(...numbers) : Math.max(...numbers);
}

function boolOf(of: TemplateValue): boolean {
  const word = textOf(of).toLowerCase();
  if (['true', 'yes', 'on', 'enable', '1'].includes(word)) return true;
  if (['false', 'no', 'off', 'disable', '0'].includes(word)) return false;
  throw new NoValue();
}

const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

function asNumber(of: TemplateValue): number | undefined {
  if (typeof of === 'number') return of;
  if (typeof of === 'boolean') return Number(of);
  return typeof of === 'string' && NUMBER.test(of) ? Number(of) : undefined;
}

function numberOf(of: TemplateValue): number {
  const value = typeof of === 'string' ? undefined : asNumber(of);
  if (value === undefined) throw new NoValue(of);
  return value;
}

/** A text in another base than ten is read in that. */
function integerOf(of: TemplateValue, [fallback, base]: readonly TemplateValue[]): TemplateValue {
  if (typeof of !== 'string' || base === undefined || base === 10)
    return Math.trunc(numberOr(of, [fallback]) as number);
  const digits = of.trim().replace(/^[+-]?(?:0x)?/i, '');
  const isWhole =
    digits !== '' && Array.from(digits).every((digit) => Number.parseInt(digit, numberOf(base)) >= 0);
  const value = isWhole ? Number.parseInt(of, numberOf(base)) : asNumber(fallback);
  if (value === undefined) throw new NoValue(of);
  return value;
}

function numberOr(of: TemplateValue, given: readonly TemplateValue[]): TemplateValue {
  const value = asNumber(of) ?? asNumber(given[0]);
  if (value === undefined) throw new NoValue(of);
  return value;
}

function isTrue(value: TemplateValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function isSame(left: TemplateValue, right: TemplateValue): boolean {
  if (typeof left === 'object' && left !== null) return JSON.stringify(left) === JSON.stringify(right);
  return typeof left === 'boolean' && typeof right === 'number' ? Number(left) === right : left === right;
}

function isIn(item: TemplateValue, of: TemplateValue): boolean {
  if (typeof of === 'string') return of.includes(textOf(item));
  if (Array.isArray(of)) return of.some((other) => isSame(item, other));
  return typeof of === 'object' && of !== null && Object.hasOwn(of, textOf(item));
}

function bounded(text: string): string {
  if (text.length > TEXT_MAX) throw new NoValue();
  return text;
}

/** As Python writes it. */
function textOf(value: TemplateValue): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
