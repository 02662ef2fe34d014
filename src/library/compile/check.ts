/** Mistakes of a template beyond the shape of its file: names that lead nowhere, and what its device cannot do. */
import { registersOf } from '../../lib/register-words.ts';
import type {
  Condition,
  Recognition,
  Template,
  TemplateCommand,
  TemplateStep,
  TemplateValue,
} from './template.ts';
import { declare, likeNames, typeOf } from './attributes.ts';
import { ARITHMETIC, namesNeeded, operationOf, type PlanParts } from './plan.ts';
import type { TemplateProblem } from './problem.ts';

/** Ways to reach a device; a template has one of them. */
const CONNECTIONS = ['modbus', 'http', 'mqtt', 'telegrams', 'udp', 'clock'] as const;
export type Connection = (typeof CONNECTIONS)[number];

/** The connection of a template. */
export const connectionOf = (template: Template): Connection =>
  CONNECTIONS.find((name) => template[name] !== undefined) ?? 'modbus';

/** What a template with its chosen parameters has. */
interface ChosenParts extends PlanParts {
  /** As the file has it: the roles of a meter are not written out. */
  file: Template;
  commands: ReadonlyMap<string, TemplateCommand>;
  roles: readonly NonNullable<Template['roles']>[number][];
}

/** Requests and steps of commands that each connection has. */
const REQUESTS: Readonly<Record<Connection, readonly string[]>> = {
  modbus: [],
  http: ['get', 'post'],
  mqtt: ['topic'],
  telegrams: [],
  udp: ['send'],
  clock: [],
};
const STEPS: Readonly<Record<Connection, readonly string[]>> = {
  ...REQUESTS,
  modbus: ['write'],
  http: ['get', 'post', 'put'],
  mqtt: ['publish'],
};

/** Adds the problems of the template to those of its parts. */
export function checkTemplate(parts: ChosenParts): void {
  const { template, values, problems } = parts;
  if (CONNECTIONS.filter((name) => template[name] !== undefined).length !== 1)
    problems.push({ path: [], message: 'must have one of modbus, http, mqtt, telegrams, udp and clock' });
  for (const [name, value] of values) checkValue(name, value, parts);
  checkConditions(parts);
  checkRequests(parts);
  checkRoles(parts);
  checkSteps(template.prepare ?? [], ['prepare'], {}, parts);
  for (const [name, { arguments: declared = {}, do: steps }] of parts.commands)
    checkSteps(steps, ['commands', name, 'do'], declared, parts);
  for (const [index, test] of (template.recognise ?? []).entries())
    if ('register' in test && !isQuestion(test.register))
      problems.push({
        path: ['recognise', index, 'register'],
        message: 'must have one of input and holding, and one of equals, between and begins_with',
      });
}

/** Whether it names a register, and what must be there. */
function isQuestion(test: Extract<Recognition, { register: unknown }>['register']): boolean {
  const count = (...given: unknown[]): number => given.filter((one) => one !== undefined).length;
  return count(test.input, test.holding) === 1 && count(test.equals, test.between, test.begins_with) === 1;
}

/** `; known are a, b`, or nothing where there is none. */
const known = (names: readonly string[]): string =>
  names.length === 0 ? '' : `; known are ${names.join(', ')}`;

function checkValue(name: string, value: TemplateValue, parts: PlanParts): void {
  const { template, values, problems, book } = parts;
  const fault = (message: string, ...place: string[]): void =>
    void problems.push({ path: ['values', name, ...place], message });
  if (name === 'conn_alerts') fault('is sent by every device of a template: choose another name');
  const isKnown = Object.values(book.groups).some((group) => Object.hasOwn(group, name));
  if (!isKnown && value.internal !== true && value.name === undefined)
    fault(`is not in attributes.yml${likeNames(book, name)}: give it a name and a unit`);
  const operation = operationOf(value);
  if (operation !== undefined && namesNeeded(value).includes(name)) fault('needs itself');
  if (ARITHMETIC.some((one) => one === operation))
    for (const needed of namesNeeded(value)) {
      const operand = values.get(needed);
      const type = operand && typeOf(book, needed, operand);
      if (type !== undefined && type !== 'float' && type !== 'integer')
        fault(
          `${operation} needs numbers, and ${needed} is ${type === 'boolean' ? 'true or false' : 'a text'}`,
        );
    }
  checkSettings(value, parts, fault);
  const named = 'alerts' in value ? Object.values({ ...value.alerts, ...value.alert_bits }) : [];
  for (const alert of named)
    if (!Object.hasOwn(template.alerts ?? {}, alert))
      fault(`there is no alert ${alert}${known(Object.keys(template.alerts ?? {}))}`, 'alerts');
  if ('bits' in value && value.bits) {
    const [from, to] = value.bits;
    const bits = 'as' in value ? registersOf(value.as) * 16 : 64;
    if (from > to || to >= bits || to - from >= 53)
      fault(`must be the lowest and the highest bit, from 0 to ${bits - 1}, at most 53 bits`, 'bits');
  }
  if ('unit_id' in value) checkUnit(value.unit_id, parts, (message) => fault(message, 'unit_id'));
}

function checkUnit(
  unit: number | string | undefined,
  { template }: PlanParts,
  fault: (message: string) => void,
): void {
  const units = ['unit_id', ...Object.keys(template.modbus?.units ?? {})];
  if (typeof unit === 'string' && !units.includes(unit))
    fault(`there is no unit ${unit} under modbus.units${known(units)}`);
}

/** A tariff and `setting` name settings of the connection; `now` names a schedule. */
function checkSettings(
  value: TemplateValue,
  { template, values }: PlanParts,
  fault: (message: string) => void,
): void {
  const declared = { ...template.http?.settings, ...template.clock?.settings };
  const schedule = 'schedule' in value ? value.schedule : undefined;
  const ofSchedule = [
    ...Object.values(schedule?.tariff ?? {}),
    ...(schedule?.factor === undefined ? [] : [schedule.factor]),
  ];
  const setting = 'setting' in value && value.setting !== undefined ? [value.setting] : [];
  for (const wanted of [...ofSchedule, ...setting])
    if (!Object.hasOwn(declared, wanted))
      fault(`there is no setting ${wanted}${known(Object.keys(declared))}`);
  const now = 'now' in value ? values.get(value.now ?? '') : undefined;
  if (now && !('schedule' in now)) fault(`${namesNeeded(value).join()} is no schedule`);
}

/** What `when` names is a parameter, and one of its choices: otherwise the item would never be there. */
function checkConditions({ template, file, problems }: ChosenParts): void {
  const parameters = template.parameters ?? {};
  const conditions = (['values', 'requests', 'commands', 'roles'] as const).flatMap((section) =>
    Object.entries<{ when?: Condition | undefined }>(file[section] ?? {}).flatMap(([key, { when = {} }]) =>
      Object.entries(when).map(([name, wanted]) => ({ path: [section, key, 'when', name], name, wanted })),
    ),
  );
  for (const { path, name, wanted } of conditions) {
    const choices = Object.hasOwn(parameters, name) ? parameters[name]?.choices : undefined;
    if (!choices)
      problems.push({ path, message: `there is no parameter ${name}${known(Object.keys(parameters))}` });
    else if ([wanted].flat().some((one) => !Object.hasOwn(choices, String(one))))
      problems.push({ path, message: `must be one of ${Object.keys(choices).join(', ')}` });
  }
}

/** `{name}` and `{name*1000}` in texts, as runtime/json-transport.lua fills them. */
const PLACEHOLDER = /\{([a-z][a-z0-9_]*)(?:\*\d+)?\}/g;

/** Names in texts that nothing fills. */
function unfilled(texts: readonly unknown[], names: readonly string[]): string[] {
  return texts
    .flatMap((text) => (typeof text === 'string' ? [...text.matchAll(PLACEHOLDER)] : []))
    .flatMap(([, name = '']) => (names.includes(name) ? [] : [name]));
}

/** Settings of the connection that texts may name. */
function settingNames({ http, mqtt, udp }: Template): string[] {
  if (mqtt) return ['topic', 'address', 'user', 'password'];
  return http ? [...Object.keys(http.settings ?? {}), 'address', 'user', 'password'] : udp ? ['address'] : [];
}

function checkRequests({ template, problems }: PlanParts): void {
  const connection = connectionOf(template);
  const names = [...settingNames(template), ...Object.keys(template.http?.moments ?? {})];
  for (const [name, request] of Object.entries(template.requests ?? {})) {
    const kind = Object.keys(request)[0] ?? '';
    const fault = (message: string): void => void problems.push({ path: ['requests', name], message });
    if (!REQUESTS[connection].includes(kind)) fault(noSuch(connection, 'requests', REQUESTS, kind));
    const headers = 'headers' in request ? Object.values(request.headers ?? {}) : [];
    const csv = 'csv' in request ? Object.values(request.csv ?? {}) : [];
    for (const one of unfilled([...Object.values(request), ...headers, ...csv], names))
      fault(`there is nothing for {${one}}${known(names)}`);
  }
}

const noSuch = (
  connection: Connection,
  what: string,
  table: Readonly<Record<Connection, readonly string[]>>,
  kind: string,
): string => {
  const kinds = table[connection].join(', ');
  return `${connection} has ${kinds === '' ? `no ${what}` : `${what} with ${kinds}, not ${kind}`}`;
};

function checkSteps(
  steps: readonly TemplateStep[],
  place: readonly string[],
  declared: NonNullable<TemplateCommand['arguments']>,
  parts: PlanParts,
): void {
  const { template, problems } = parts;
  const connection = connectionOf(template);
  const names = [...Object.keys(declared), ...settingNames(template)];
  for (const [index, step] of steps.entries()) {
    const kind = Object.keys(step)[0] ?? '';
    const fault = (message: string, ...more: string[]): void =>
      void problems.push({ path: [...place, index, ...more], message });
    if (kind !== 'pause_ms' && !STEPS[connection].includes(kind))
      fault(noSuch(connection, 'steps', STEPS, kind));
    for (const one of unfilled(Object.values(step), names))
      fault(`there is nothing for {${one}}${known(names)}`);
    if (!('write' in step)) continue;
    const { value, map, unit_id: unit } = step.write;
    const name = typeof value === 'string' ? value.slice(1) : undefined;
    const argument = name !== undefined && Object.hasOwn(declared, name) ? declared[name] : undefined;
    if (name !== undefined && !argument)
      fault(`there is no argument ${name}${known(Object.keys(declared))}`, 'write', 'value');
    if (argument?.type === 'string' && !map)
      fault(`${name} is a text: map says its numbers`, 'write', 'value');
    checkUnit(unit, parts, (message) => fault(message, 'write', 'unit_id'));
  }
}

/** What the books of energy count with; kilo and mega of it are converted. */
const QUANTITIES = { power: 'W', forward: 'Wh', reverse: 'Wh', soc: '%' } as const;

/** Values of roles exist, are sent, and have a unit that counts. */
function checkRoles(parts: ChosenParts): void {
  const { file, roles, problems } = parts;
  const { meter, roles: written = [] } = file;
  for (const [index, role] of written.entries())
    if (roles.includes(role))
      for (const key of ['power', 'forward', 'reverse', 'soc'] as const)
        problems.push(...roleProblems(role[key], ['roles', index, key], QUANTITIES[key], parts));
  const { power, imported, exported } = meter ?? {};
  problems.push(
    ...roleProblems(power, ['meter', 'power'], 'W', parts),
    ...roleProblems(imported, ['meter', 'imported'], 'Wh', parts),
    ...roleProblems(exported, ['meter', 'exported'], 'Wh', parts),
  );
}

function roleProblems(
  name: string | undefined,
  path: TemplateProblem['path'],
  quantity: 'W' | 'Wh' | '%',
  { values, book }: PlanParts,
): TemplateProblem[] {
  if (name === undefined) return [];
  const value = values.get(name);
  if (!value) return [{ path, message: `there is no value ${name}` }];
  if (value.internal === true) return [{ path, message: `${name} is internal and not sent; let it be sent` }];
  const { unit } = declare(book, name, value);
  const units = quantity === '%' ? ['%'] : ['', 'k', 'M'].map((prefix) => prefix + quantity);
  if (unit === undefined || units.includes(unit)) return [];
  return [
    {
      path,
      message: `${name} is in ${unit}, it must be in ${units.join(', ').replace(/, (?=\S+$)/, ' or ')}`,
    },
  ];
}
