/**
 * Which template a device on the network belongs to, by what it said when it was asked: `recognise` of the templates.
 * Pure.
 */
import { registersOf, valueOfWords } from '../lib/register-words.ts';
import { fieldOf, type RegisterField, type SunSpecBook } from './compile/requests.ts';
import { pathOf } from './compile/plan.ts';
import type { Recognition, Template } from './compile/template.ts';

/** Registers of one table that follow each other. */
export interface RegisterRead {
  kind: 'input' | 'holding';
  start: number;
  count: number;
}

/** Answers of a device. */
export interface Evidence {
  /** Identity from the common model of SunSpec. */
  sunspec?: { manufacturer?: string | undefined; model?: string | undefined } | undefined;
  /** Numbers of its SunSpec models. */
  models?: readonly number[] | undefined;
  /** Identity from function 43/14. */
  identification?:
    | {
        vendor?: string | undefined;
        product_code?: string | undefined;
        product_name?: string | undefined;
        model_name?: string | undefined;
      }
    | undefined;
  registers?: readonly (RegisterRead & { words: readonly number[] })[];
  /** Answers of HTTP by path. */
  answers?: Readonly<Record<string, string>>;
  /** Services that it announces by multicast DNS. */
  services?: readonly { type: string; name: string }[];
}

/** Weight of a match: a name counts more than a number, a number more than a range. */
const STRENGTH = { none: 0, range: 1, number: 2, models: 3, name: 4 } as const;

type RegisterTest = Extract<Recognition, { register: unknown }>['register'];
type HttpTest = Extract<Recognition, { http: unknown }>['http'];

/** 0: nothing in the evidence says that it is a device of this template. */
export function strengthOf(template: Template, evidence: Evidence): number {
  const strength = Math.max(
    0,
    ...(template.recognise ?? []).map((test) => matchOf(test, template, evidence)),
  );
  return strength < STRENGTH.models && isOfAnother(template.maker, evidence) ? STRENGTH.none : strength;
}

/** A device that names its maker is not recognised by a number as a device of another one. */
function isOfAnother(maker: string, { sunspec, identification }: Evidence): boolean {
  const named = [sunspec?.manufacturer, identification?.vendor].filter((name) => name !== undefined);
  const [word = ''] = maker.toLowerCase().split(/[\s-]/);
  return named.length > 0 && !named.some((name) => name.toLowerCase().includes(word));
}

function matchOf(test: Recognition, template: Template, evidence: Evidence): number {
  if ('sunspec' in test) return sunspecMatch(test.sunspec, template, evidence);
  if ('identification' in test) {
    const { vendor, product_code, product_name, model_name } = evidence.identification ?? {};
    const isProduct = [product_code, product_name, model_name].some((name) =>
      begins(name, test.identification.product ?? ''),
    );
    return begins(vendor, test.identification.vendor) && isProduct ? STRENGTH.name : STRENGTH.none;
  }
  if ('register' in test) return registerMatch(test.register, template, evidence);
  if ('mdns' in test) {
    const { service, name = '' } = test.mdns;
    const isAnnounced = evidence.services?.some((one) => one.type === service && begins(one.name, name));
    return isAnnounced === true ? STRENGTH.name : STRENGTH.none;
  }
  if ('http' in test) return httpMatch(test.http, evidence);
  return STRENGTH.none;
}

function sunspecMatch(
  wanted: { maker: string; model?: string | undefined },
  template: Template,
  { sunspec, models }: Evidence,
): number {
  const isIt =
    wanted.maker === '*' ||
    (begins(sunspec?.manufacturer, wanted.maker) && begins(sunspec?.model, wanted.model ?? ''));
  if (!isIt) return STRENGTH.none;
  const isPresent = (numbers: readonly number[]): boolean =>
    models?.some((model) => numbers.includes(model)) === true;
  const [main, ...others] = modelsOf(template);
  // A device that lists no models is known by its maker alone, and one without the main model is another device.
  if (models === undefined && wanted.maker !== '*') return STRENGTH.name;
  if (main && !isPresent(main)) return STRENGTH.none;
  if (wanted.maker === '*') return STRENGTH.models;
  // An inverter of the same maker without a battery is rather one of those of any maker.
  return others.every(isPresent) ? STRENGTH.name : STRENGTH.number;
}

/** Models of its values beyond the common one, whatever its parameters; alternatives are one entry. */
const modelsOf = (template: Template): number[][] =>
  Object.values(template.values)
    .flatMap((value) =>
      'sunspec' in value && !value.when ? [(value.sunspec.split(':')[0] ?? '').split('|').map(Number)] : [],
    )
    .filter((numbers) => !numbers.includes(1));

function registerMatch(test: RegisterTest, template: Template, { registers = [] }: Evidence): number {
  const read = readOf(test);
  const words = read && registers.find((one) => isSameRead(one, read))?.words;
  if (!words) return STRENGTH.none;
  const order = test.word_order ?? template.modbus?.word_order;
  const value = valueOfWords(words, test.as, order === 'low_first');
  if (test.begins_with !== undefined)
    return begins(String(value), test.begins_with) ? STRENGTH.name : STRENGTH.none;
  if (test.equals)
    return test.equals.some((one) => String(one) === String(value)) ? STRENGTH.number : STRENGTH.none;
  const [min, max] = test.between ?? [1, 0];
  return typeof value === 'number' && value >= min && value <= max ? STRENGTH.range : STRENGTH.none;
}

const isSameRead = (a: RegisterRead, b: RegisterRead): boolean =>
  a.kind === b.kind && a.start === b.start && a.count === b.count;

const begins = (text: string | undefined, start: string): boolean =>
  (text ?? '').toLowerCase().startsWith(start.toLowerCase());

function readOf({ input, holding, as }: RegisterTest): RegisterRead | undefined {
  const start = input ?? holding;
  if (start === undefined) return undefined;
  return { kind: input === undefined ? 'holding' : 'input', start, count: registersOf(as) };
}

function httpMatch(
  { path, field, equals, begins_with, contains }: HttpTest,
  { answers = {} }: Evidence,
): number {
  const text = Object.hasOwn(answers, path) ? answers[path] : undefined;
  const said = text === undefined || field === undefined ? text : valueAt(text, field);
  if (said === undefined || said === null) return STRENGTH.none;
  const word = typeof said === 'string' ? said : JSON.stringify(said);
  if (equals) {
    if (!equals.some((one) => String(one) === word)) return STRENGTH.none;
    return typeof said === 'number' ? STRENGTH.number : STRENGTH.name;
  }
  const isNamed =
    begins_with === undefined
      ? contains === undefined || word.toLowerCase().includes(contains.toLowerCase())
      : begins(word, begins_with);
  return isNamed ? STRENGTH.name : STRENGTH.none;
}

/** The value at a path of a JSON text; undefined where there is none, or no JSON. */
function valueAt(text: string, path: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  for (const part of pathOf(path) ?? []) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (typeof part !== 'object') value = (value as Record<string | number, unknown>)[part];
    else
      value = Array.isArray(value)
        ? value.find((item: Record<string, unknown> | null) => String(item?.[part.key]) === part.equals)
        : undefined;
  }
  return value;
}

/** Questions whose answers identify a device of this template. */
export function questionsOf(template: Template): {
  reads: RegisterRead[];
  paths: string[];
  services: string[];
} {
  const tests = template.recognise ?? [];
  return {
    reads: tests.flatMap((test) => ('register' in test ? (readOf(test.register) ?? []) : [])),
    paths: tests.flatMap((test) => ('http' in test ? [test.http.path] : [])),
    services: tests.flatMap((test) => ('mdns' in test ? [test.mdns.service] : [])),
  };
}

const IDENTITY = ['serial_number', 'model'] as const;
type Identity = { [Name in (typeof IDENTITY)[number]]?: string };

/** Where a device of this template says its serial number and model: registers, or a path of its HTTP interface. */
export function identityQuestions(
  template: Template,
  book: SunSpecBook,
): { reads: RegisterRead[]; paths: string[] } {
  const fields = identityFields(template, book);
  return {
    reads: fields.flatMap(({ field }) => (field ? [fieldRead(field)] : [])),
    paths: fields.flatMap(({ path }) => (path === undefined ? [] : [path])),
  };
}

/** Serial number and model as far as the answers to `identityQuestions` have them. */
export function identityOf(template: Template, book: SunSpecBook, evidence: Evidence): Identity {
  const { registers = [], answers = {} } = evidence;
  return Object.fromEntries(
    identityFields(template, book).flatMap(({ name, field, path, place = '' }) => {
      if (field) {
        const read = fieldRead(field);
        const words = registers.find((one) => isSameRead(one, read))?.words;
        const value = words && valueOfWords(words, field.type, field.isLowFirst);
        return value === undefined || value === '' ? [] : [[name, String(value)] as const];
      }
      const text = path !== undefined && Object.hasOwn(answers, path) ? answers[path] : undefined;
      const said = text === undefined ? undefined : valueAt(text, place);
      return typeof said === 'string' || typeof said === 'number' ? [[name, String(said)] as const] : [];
    }),
  );
}

const fieldRead = ({ kind, first, count }: RegisterField): RegisterRead => ({
  kind: kind === 'input' ? 'input' : 'holding',
  start: first,
  count,
});

interface IdentityField {
  name: (typeof IDENTITY)[number];
  /** Register of a Modbus device. */
  field?: RegisterField;
  /** Path of an HTTP device, and the place in its answer. */
  path?: string;
  place?: string;
}

/** Values without a conversion: what is made of several registers is not asked for before the device is added. */
function identityFields(template: Template, book: SunSpecBook): IdentityField[] {
  return IDENTITY.flatMap((name): IdentityField[] => {
    const value = template.values[name];
    if (!value || value.when) return [];
    if ('from' in value) {
      const request = template.requests?.[value.from];
      const isFixed = request && 'get' in request && !/[{}]/.test(request.get);
      return isFixed ? [{ name, path: request.get, place: value.path }] : [];
    }
    if (!template.modbus || 'sunspec' in value || ('enum' in value && value.enum)) return [];
    const field = fieldOf(value, template, book);
    const isRegister = typeof field !== 'string' && (field.kind === 'input' || field.kind === 'holding');
    return isRegister && field.unit === undefined ? [{ name, field }] : [];
  });
}
