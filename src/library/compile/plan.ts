/** The work of a template's script, as data for runtime/template.lua. */
import { registersOf } from '../../lib/register-words.ts';
import type { ScheduleValue, Template, TemplateStep, TemplateValue } from './template.ts';
import { type AttributeBook, isProperty, typeOf } from './attributes.ts';
import type { Data } from './lua-text.ts';
import type { TemplateProblem } from './problem.ts';
import { fieldOf, planRequests, type RegisterField, type SunSpecBook, sunSpecField } from './requests.ts';

type Rule = Record<string, Data>;

/** Values that are read in one rhythm, and what is made of them. */
interface Group {
  every_ms: number;
  requests: readonly Rule[];
  values: readonly Rule[];
  schedules: readonly Rule[] | undefined;
  derived: readonly Rule[];
  telemetry: readonly string[];
  properties: readonly string[];
}

export interface PlanParts {
  template: Template;
  /** Values, commands and requests that the chosen parameters leave. */
  values: ReadonlyMap<string, TemplateValue>;
  requests: ReadonlyMap<string, NonNullable<Template['requests']>[string]>;
  book: AttributeBook;
  sunSpec: SunSpecBook;
  problems: TemplateProblem[];
}

/** Operations that count with their operands. */
export const ARITHMETIC = [
  'sum',
  'sum_known',
  'difference',
  'product',
  'negate',
  'positive_part',
  'negative_part',
] as const;
const DERIVED = [...ARITHMETIC, 'first', 'select', 'constant', 'setting', 'now'] as const;

type Operation = (typeof DERIVED)[number];

/** The operation that makes a derived value; undefined for one that is read. */
export const operationOf = (value: TemplateValue): Operation | undefined =>
  DERIVED.find((name) => name in value);

const operandsOf = (value: TemplateValue): readonly (string | number)[] => {
  const operation = operationOf(value);
  if (operation === undefined || operation === 'constant' || operation === 'setting') return [];
  const content = (value as Record<string, unknown>)[operation];
  if (operation === 'select') {
    const { by, of } = content as { by: string; of: Record<string, string | number> };
    return [by, ...Object.values(of)];
  }
  return Array.isArray(content) ? (content as (string | number)[]) : [content as string];
};

/** Names that a derived value needs. */
export const namesNeeded = (value: TemplateValue): string[] =>
  operandsOf(value).filter((item): item is string => typeof item === 'string');

export function planGroups(parts: PlanParts): Group[] {
  const everyS = rhythms(parts);
  const fastest = defaultEveryS(parts.template);
  const all = [...new Set(everyS.values())].toSorted((a, b) => a - b);
  // The group in the template's own rhythm comes first: it tells whether the device answers.
  const ordered = all.includes(fastest) ? [fastest, ...all.filter((s) => s !== fastest)] : all;
  return ordered.map((s) => {
    const members = new Map([...parts.values].filter(([name]) => everyS.get(name) === s));
    return groupOf(s, members, parts);
  });
}

const defaultEveryS = ({ modbus, http, mqtt, telegrams, udp, clock }: Template): number =>
  (modbus ?? http ?? mqtt ?? telegrams ?? udp ?? clock)?.poll_s ?? 5;

/** The request that a value is read from. */
function requestNameOf(value: TemplateValue): string | undefined {
  if ('from' in value) return value.from;
  return 'schedule' in value ? value.schedule.from : undefined;
}

/** The rhythm of each value; a derived value has that of its operands. */
function rhythms({ template, values, requests, problems }: PlanParts): Map<string, number> {
  const known = new Map<string, number>();
  const rhythmOf = (name: string, trail: readonly string[]): number => {
    const done = known.get(name);
    if (done !== undefined) return done;
    const value = values.get(name);
    const needed = value
      ? namesNeeded(value).filter((item) => values.has(item) && !trail.includes(item))
      : [];
    const request = value && requests.get(requestNameOf(value) ?? '');
    const own = value?.every_s ?? (request && 'every_s' in request ? request.every_s : undefined);
    const inherited = needed.map((item) => rhythmOf(item, [...trail, name]));
    if (new Set(inherited).size > 1)
      problems.push({
        path: ['values', name],
        message: 'needs values that are read in different rhythms (every_s)',
      });
    const s = inherited[0] ?? own ?? defaultEveryS(template);
    known.set(name, s);
    return s;
  };
  for (const name of values.keys()) rhythmOf(name, []);
  return known;
}

function groupOf(everyS: number, members: ReadonlyMap<string, TemplateValue>, parts: PlanParts): Group {
  const read = [...members].filter(([, value]) => operationOf(value) === undefined);
  const { modbus, telegrams } = parts.template;
  const rulesOf = modbus ? registerRules : telegrams ? telegramRules : answerRules;
  const { requests, rules, schedules } = rulesOf(read, parts);
  const shown = [...members].filter(([, value]) => value.internal !== true).map(([name]) => name);
  const asProperty = (name: string): boolean => {
    const value = members.get(name);
    return value !== undefined && isProperty(parts.book, name, value);
  };
  return {
    every_ms: everyS * 1_000,
    requests,
    values: rules,
    schedules: schedules && schedules.length > 0 ? schedules : undefined,
    derived: derivedRules(members, parts),
    telemetry: shown.filter((name) => !asProperty(name)),
    properties: shown.filter(asProperty),
  };
}

function registerRules(
  read: readonly [string, TemplateValue][],
  parts: PlanParts,
): { requests: Rule[]; rules: Rule[]; schedules?: undefined } {
  const { template, sunSpec, problems } = parts;
  const fields = new Map<string, RegisterField>();
  for (const [name, value] of read) {
    const field = fieldOf(value, template, sunSpec);
    if (typeof field === 'string') problems.push({ path: ['values', name], message: field });
    else fields.set(name, field);
  }
  const limits = { registersMax: template.modbus?.registers_per_read ?? 100, gap: template.modbus?.gap ?? 8 };
  const { requests, requestOf } = planRequests([...fields.values()], limits);
  const rules = [...fields].map(([name, field]) => {
    const request = requestOf.get(field) ?? 0;
    const start = requests[request]?.first ?? 0;
    const value = read.find(([other]) => other === name)?.[1];
    return {
      name,
      request: request + 1,
      at: field.first - start + 1,
      ...wordsOf(field),
      ...(field.exponentAt === undefined
        ? {}
        : { has_exponent: true, exponent_at: field.exponentAt - start + 1 }),
      ...(value ? conversionOf(name, value, field.type, parts.book) : {}),
    };
  });
  return {
    requests: requests.map(({ kind, first, count, unit, models }) => ({ kind, first, count, unit, models })),
    rules,
  };
}

function wordsOf({ type, isLowFirst }: RegisterField): Rule {
  if (type.startsWith('string')) return { chars: registersOf(type) };
  const plain = type === 'acc32' ? 'u32' : type === 'sf' ? 'i16' : type;
  return { as: plain, low_first: isLowFirst && registersOf(plain) > 1 ? true : undefined };
}

/** All values of a telegram come together, and without a request. */
function telegramRules(
  read: readonly [string, TemplateValue][],
  { problems, book }: PlanParts,
): { requests: Rule[]; rules: Rule[]; schedules?: undefined } {
  const rules = read.flatMap(([name, value]): Rule[] => {
    if ('obis' in value)
      return [{ name, request: 1, obis: value.obis, ...conversionOf(name, value, '', book) }];
    problems.push({ path: ['values', name], message: 'needs obis: its code in the telegram' });
    return [];
  });
  return { requests: [], rules };
}

function answerRules(
  read: readonly [string, TemplateValue][],
  { requests, problems, book }: PlanParts,
): { requests: Rule[]; rules: Rule[]; schedules: Rule[] } {
  const named = read.flatMap(([, value]) => requestNameOf(value) ?? []);
  const used = [...new Set(named)];
  const schedules: Rule[] = [];
  const rules: Rule[] = [];
  for (const [name, value] of read) {
    const fault = (message: string, ...place: string[]): void =>
      void problems.push({ path: ['values', name, ...place], message });
    const from = requestNameOf(value);
    if (from !== undefined && !requests.has(from)) fault(`there is no request ${from}`, 'from');
    const request = from === undefined ? undefined : used.indexOf(from) + 1;
    if ('schedule' in value)
      schedules.push({ name, request, ...scheduleRule(value, (message) => fault(message, 'schedule')) });
    else if ('from' in value) {
      const path = pathOf(value.path);
      if (!path) fault('must be a path such as emeters[0].power', 'path');
      rules.push({ name, request, path, ...conversionOf(name, value, '', book) });
    } else fault('needs from and path: the request, and the place in its answer');
  }
  return { requests: used.map((name) => requestRule(requests.get(name))), rules, schedules };
}

/** Rule for runtime/schedule.lua: exactly one of `lists`, `starts`, `by_time` and `tariff`. */
function scheduleRule({ schedule }: ScheduleValue, fault: (message: string) => void): Rule {
  const { from, list, start, end, value, starts, values, by_time: byTime, tariff } = schedule;
  const path = (text: string | undefined): Data => {
    const parts = text === undefined ? undefined : pathOf(text);
    if (text !== undefined && !parts) fault(`${text} must be a path such as data.prices`);
    return parts;
  };
  const forms = [list && start && value, starts && values, byTime].filter(Boolean).length;
  if (forms !== (from === undefined ? 0 : 1) || (from === undefined) !== (tariff !== undefined))
    fault('must have tariff, or from and one of: list with start and value; starts with values; by_time');
  return {
    lists: list === undefined ? undefined : [list].flat().map(path),
    start: path(start),
    stop: path(end),
    value: path(value),
    starts: path(starts),
    values: path(values),
    by_time: path(byTime),
    tariff,
    ...scaleOf(schedule.scale),
    most_s: schedule.step_min * 60,
    is_local: schedule.timezone === 'site' ? true : undefined,
    factor: schedule.factor,
    shift_s: schedule.shift_min === undefined ? undefined : schedule.shift_min * 60,
    gaps: schedule.gaps,
  };
}

function requestRule(request: NonNullable<Template['requests']>[string] | undefined): Rule {
  if (!request) return {};
  const optional = request.optional === true ? true : undefined;
  if ('topic' in request)
    return { topic: request.topic, plain: request.plain === true ? true : undefined, optional };
  if ('send' in request) return { send: request.send, answer: request.answer, optional };
  const { headers, csv } = request;
  if ('get' in request) return { method: 'GET', path: request.get, headers, csv, optional };
  return {
    method: 'POST',
    path: request.post,
    body: request.body,
    content_type: request.content_type,
    headers,
    csv,
    optional,
  };
}

/**
 * The parts of a JSON path: names, positions as numbers, and `[type=eim]` for the member of a list that has it; none for
 * `.`, the whole answer.
 */
export function pathOf(text: string): (string | number | { key: string; equals: string })[] | undefined {
  if (text === '.') return [];
  const parts: (string | number | { key: string; equals: string })[] = [];
  const part =
    /(?:^|\.)([A-Za-z_][\w:-]*)|\[(\d+)\]|\[["']([^"'\]]+)["']\]|(?:^|\.)(\d[\w:-]*)|\[(\w+)=([^\]]+)\]/y;
  while (part.lastIndex < text.length) {
    const [match, plain, position, quoted, numeric, key, equals] = part.exec(text) ?? [];
    if (match === undefined) return undefined;
    if (key !== undefined && equals !== undefined) parts.push({ key, equals });
    else parts.push(position === undefined ? (plain ?? quoted ?? numeric ?? '') : Number(position));
  }
  return parts.length > 0 ? parts : undefined;
}

/** Raw values that mean *no value* by the SunSpec type; counters are at 0 where there is none. */
const SUNSPEC_NONE: Readonly<Record<string, number>> = {
  u16: 0xffff,
  i16: -0x8000,
  u32: 0xffff_ffff,
  // Beyond 53 bits a number is a float in Lua too.
  u64: 2 ** 64,
  i32: -0x8000_0000,
  acc32: 0,
};
/**
 * Values that no quantity reaches, the last ones of 32 and 64 bits: inverters send them while they sleep, whatever
 * their manual says.
 */
const NEVER: Readonly<Record<string, readonly number[]>> = {
  u32: [0xffff_ffff, 0x8000_0000, 0x7fff_ffff],
  i32: [-0x8000_0000, 0x7fff_ffff],
  u64: [2 ** 64, 2 ** 63],
  i64: [-(2 ** 63)],
};
const BITS: Readonly<Record<string, number>> = { i16: 16, i32: 32, i64: 64 };

function conversionOf(name: string, value: TemplateValue, type: string, book: AttributeBook): Rule {
  if (
    !(
      'no_value' in value ||
      'scale' in value ||
      'from' in value ||
      'as' in value ||
      'sunspec' in value ||
      'obis' in value
    )
  )
    return {};
  const source: Extract<TemplateValue, { scale?: number | undefined }> = value;
  const signed = (none: number | string): number | string => {
    const bits = BITS[type];
    return typeof none === 'number' && bits !== undefined && none >= 2 ** (bits - 1)
      ? none - 2 ** bits
      : none;
  };
  const standard = 'sunspec' in value && SUNSPEC_NONE[type] !== undefined ? [SUNSPEC_NONE[type]] : [];
  const isQuantity = !(source.bits ?? source.enum ?? source.alerts ?? source.alert_bits);
  const never = isQuantity ? (NEVER[type] ?? []) : [];
  const none = [...new Set([...standard, ...(source.no_value ?? []).map(signed), ...never])];
  const kind = typeOf(book, name, value);
  return {
    none: none.length > 0 ? none : undefined,
    ...(source.bits ? { shift: source.bits[0], mask: 2 ** (source.bits[1] - source.bits[0] + 1) - 1 } : {}),
    ...scaleOf(source.scale),
    offset: source.offset,
    enum: source.enum,
    alerts: source.alerts,
    alert_bits: source.alert_bits,
    type: kind === 'float' ? undefined : kind,
  };
}

/** A scale below one divides, because a tenth has no exact form: 2304 tenths are 230.4, not 230.40000000000003. */
function scaleOf(scale: number | undefined): Rule {
  if (scale === undefined || scale === 1) return {};
  const inverse = 1 / scale;
  const whole = Math.round(inverse);
  return Math.abs(scale) < 1 && Math.abs(inverse - whole) < 1e-9 ? { divide: whole } : { scale };
}

/** Derived values, each behind those that it needs. */
function derivedRules(members: ReadonlyMap<string, TemplateValue>, { values, problems }: PlanParts): Rule[] {
  const rules: Rule[] = [];
  const done = new Set(
    [...members].filter(([, value]) => operationOf(value) === undefined).map(([name]) => name),
  );
  const visit = (name: string, trail: readonly string[]): void => {
    const value = members.get(name);
    const operation = value && operationOf(value);
    if (done.has(name) || !value || operation === undefined) return;
    done.add(name);
    for (const needed of namesNeeded(value)) {
      if (!values.has(needed))
        problems.push({ path: ['values', name], message: `there is no value ${needed}` });
      if (trail.includes(needed))
        problems.push({ path: ['values', name], message: `needs itself, through ${needed}` });
      else visit(needed, [...trail, name]);
    }
    rules.push({
      name,
      op: operation,
      ...operandRule(value, operation),
      enum: 'enum' in value ? value.enum : undefined,
    });
  };
  for (const name of members.keys()) visit(name, [name]);
  return rules;
}

function operandRule(value: TemplateValue, operation: Operation): Rule {
  const content = (value as Record<string, unknown>)[operation];
  if (operation === 'select') return content as Rule;
  return { of: (Array.isArray(content) ? content : [content]) as Data[] };
}

/** The steps of a command or of the preparation, as the transport of the template runs them. */
export function planSteps(
  steps: readonly TemplateStep[],
  place: readonly (string | number)[],
  { template, sunSpec, problems }: PlanParts,
): Rule[] {
  return steps.map((step, index): Rule => {
    if ('pause_ms' in step) return step;
    if ('get' in step) return { method: 'GET', path: step.get };
    if ('post' in step)
      return { method: 'POST', path: step.post, body: step.body, content_type: step.content_type };
    if ('put' in step)
      return { method: 'PUT', path: step.put, body: step.body, content_type: step.content_type };
    if ('send' in step) return step;
    if ('publish' in step) return { topic: step.publish, payload: step.payload, retain: step.retain };
    const { write } = step;
    const fault = (message: string): void =>
      void problems.push({ path: [...place, index, 'write'], message });
    const target = writeTarget(write, template, sunSpec);
    if (typeof target === 'string') fault(target);
    const argument = typeof write.value === 'string' ? write.value.slice(1) : undefined;
    return {
      write: {
        ...(typeof target === 'string' ? {} : target),
        unit: write.unit_id,
        ...(argument === undefined ? { value: write.value } : { argument }),
        map: write.map,
        scale: write.scale,
        fn: write.function,
      },
    };
  });
}

type Write = Extract<TemplateStep, { write: unknown }>['write'];

function writeTarget(write: Write, template: Template, sunSpec: SunSpecBook): Rule | string {
  if ([write.holding, write.coil, write.sunspec].filter((target) => target !== undefined).length !== 1)
    return 'must have one of holding, coil, sunspec';
  if (write.coil !== undefined) return { coil: write.coil };
  const isLowFirst = (write.word_order ?? template.modbus?.word_order) === 'low_first';
  const words = { as: write.as, low_first: isLowFirst && registersOf(write.as) > 1 ? true : undefined };
  if (write.holding !== undefined) return { holding: write.holding, ...words };
  const field = sunSpecField(write.sunspec ?? '', sunSpec);
  if (typeof field === 'string') return field;
  return { models: field.models, first: field.first, exponent_first: field.exponentAt, as: field.type };
}
