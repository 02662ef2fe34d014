/** From a device template to the files of an ordinary blueprint. */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Condition, Template } from '../template.ts';
import type { AttributeBook } from './attributes.ts';
import { luaText } from './lua-text.ts';
import { hasSettings, manifestOf } from './manifest.ts';
import { withMeterRoles } from './meter.ts';
import { namesNeeded, operationOf, type PlanParts, planGroups, planSteps } from './plan.ts';
import { TemplateError, type TemplateProblem } from './problem.ts';
import type { SunSpecBook } from './requests.ts';

/** Files of the library that every template needs. */
export interface LibraryBooks {
  attributes: AttributeBook;
  sunSpec: SunSpecBook;
  /** Content of runtime/, by file name. */
  runtime: Readonly<Record<string, string>>;
}

export interface CompileRequest {
  template: Template;
  /** Path in the library without ending: `eastron/sdm630`. */
  id: string;
  /** The file's own text, whose digest tells later whether the library has a newer one. */
  text: string;
  /** Values of the template's parameters; absent ones have their default. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
}

export interface CompiledTemplate {
  /** Path in the archive → content. The same request makes the same files. */
  files: Readonly<Record<string, string>>;
  parameters: Readonly<Record<string, string | number | boolean>>;
  digest: string;
}

export const digestOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16);

/** @throws TemplateError with all mistakes */
export function compileTemplate(request: CompileRequest, books: LibraryBooks): CompiledTemplate {
  const { id, text } = request;
  const problems: TemplateProblem[] = [];
  const written = withMeterRoles(request.template);
  const parameters = parametersOf({ ...request, template: written }, problems);
  const template = withWordOrder(written, parameters, problems);
  const isWanted = (item: { when?: Condition | undefined }): boolean => holds(item.when, parameters);
  const chosen = <Item extends { when?: Condition | undefined }>(
    items: Record<string, Item> | undefined,
  ): Map<string, Item> => new Map(Object.entries(items ?? {}).filter(([, item]) => isWanted(item)));
  const parts: PlanParts = {
    template,
    values: chosen(template.values),
    requests: chosen(template.requests),
    book: books.attributes,
    sunSpec: books.sunSpec,
    problems,
  };
  const commands = chosen(template.commands);
  const roles = (template.roles ?? []).filter(isWanted);
  const constants = constantsOf(parts);
  const groups = planGroups(parts);
  const plan = {
    ...connectionOf(template),
    needs_nothing: hasSettings(template) ? undefined : true,
    constants,
    has_alerts: template.alerts !== undefined ? true : undefined,
    groups: groups as never,
    prepare: template.prepare && (planSteps(template.prepare, ['prepare'], parts) as never),
    commands: Object.fromEntries(
      [...commands].map(([name, command]) => [
        name,
        {
          output: command.output ?? name,
          repeat_ms: command.repeat_s === undefined ? undefined : command.repeat_s * 1_000,
          steps: planSteps(command.do, ['commands', name, 'do'], parts) as never,
        },
      ]),
    ),
  };
  check(parts, roles);
  const digest = digestOf(text);
  const manifest = manifestOf({
    ...parts,
    commands,
    roles,
    constants,
    origin: { template: id, digest, parameters },
  });
  if (problems.length > 0) throw new TemplateError(problems);
  const transport = template.modbus
    ? 'modbus_transport'
    : template.http
      ? 'http_transport'
      : 'mqtt_transport';
  const main =
    `-- Made from the device template ${id}. What stands here is data; template.lua runs it.\n` +
    `local template = require('template')\nlocal transport = require('${transport}')\n\n` +
    `template.start(${luaText(plan)}, transport)\n`;
  return {
    files: {
      'manifest.yml': stringify(manifest, { lineWidth: 110, aliasDuplicateObjects: false }),
      'lua/main.lua': main,
      'lua/template.lua': books.runtime['template.lua'] ?? '',
      [`lua/${transport}.lua`]: books.runtime[`${transport}.lua`] ?? '',
    },
    parameters,
    digest,
  };
}

function parametersOf(
  { template, parameters = {} }: CompileRequest,
  problems: TemplateProblem[],
): Record<string, string | number | boolean> {
  const declared = template.parameters ?? {};
  for (const name of Object.keys(parameters))
    if (!Object.hasOwn(declared, name))
      problems.push({ path: ['parameters', name], message: 'is no parameter of this template' });
  return Object.fromEntries(
    Object.entries(declared).map(([name, { choices, default: preset }]) => {
      const value = parameters[name] ?? preset;
      if (!Object.hasOwn(choices, String(value)))
        problems.push({
          path: ['parameters', name],
          message: `must be one of ${Object.keys(choices).join(', ')}`,
        });
      return [name, value];
    }),
  );
}

/** The word order that a parameter chooses. */
function withWordOrder(
  template: Template,
  parameters: Readonly<Record<string, string | number | boolean>>,
  problems: TemplateProblem[],
): Template {
  const { modbus } = template;
  if (!modbus?.word_order.startsWith('$')) return template;
  const chosen = parameters[modbus.word_order.slice(1)];
  if (chosen !== 'high_first' && chosen !== 'low_first')
    problems.push({
      path: ['modbus', 'word_order'],
      message: 'names no parameter with the choices high_first and low_first',
    });
  return { ...template, modbus: { ...modbus, word_order: String(chosen) } };
}

function holds(
  condition: Condition | undefined,
  parameters: Readonly<Record<string, string | number | boolean>>,
): boolean {
  return Object.entries(condition ?? {}).every(([name, wanted]) => {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    return values.some((value) => String(value) === String(parameters[name]));
  });
}

/** Properties that are the same for every device of the template. */
function constantsOf({ template, values }: PlanParts): Record<string, string> {
  const { maker: vendor, name: model } = template;
  return Object.fromEntries(Object.entries({ vendor, model }).filter(([name]) => !values.has(name)));
}

function connectionOf({
  modbus,
  http,
  mqtt,
}: Template): Record<string, string | number | boolean | undefined> {
  if (modbus) return { timeout_ms: modbus.timeout_ms, pause_ms: modbus.pause_ms };
  if (http) {
    const { scheme, port, url, auth, user, own_certificate, timeout_s } = http;
    return { scheme, port, url, auth, user, own_certificate: own_certificate ? true : undefined, timeout_s };
  }
  return { stale_ms: (mqtt?.stale_s ?? 120) * 1_000 };
}

/** What the shape of the file does not say: references that must exist, and one connection. */
function check(parts: PlanParts, roles: NonNullable<Template['roles']>): void {
  const { template, values, problems, book } = parts;
  const connections = [template.modbus, template.http, template.mqtt].filter(Boolean).length;
  if (connections !== 1) problems.push({ path: [], message: 'must have one of modbus, http and mqtt' });
  for (const [name, value] of values) {
    const isKnown = Object.values(book.groups).some((group) => Object.hasOwn(group, name));
    if (!isKnown && value.internal !== true && value.name === undefined)
      problems.push({
        path: ['values', name],
        message: 'is not in attributes.yml: give it a name and a unit',
      });
    if (operationOf(value) !== undefined && namesNeeded(value).includes(name))
      problems.push({ path: ['values', name], message: 'needs itself' });
    const named = 'alerts' in value ? Object.values({ ...value.alerts, ...value.alert_bits }) : [];
    for (const alert of named)
      if (!Object.hasOwn(template.alerts ?? {}, alert))
        problems.push({ path: ['values', name, 'alerts'], message: `there is no alert ${alert}` });
  }
  for (const [index, role] of roles.entries())
    for (const key of ['power', 'forward', 'reverse', 'soc'] as const) {
      const wanted = role[key];
      if (wanted !== undefined && !values.has(wanted))
        problems.push({ path: ['roles', index, key], message: `there is no value ${wanted}` });
    }
}
