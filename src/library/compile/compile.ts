/** From a device template to the files of an ordinary blueprint. */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Condition, Template } from './template.ts';
import type { AttributeBook } from './attributes.ts';
import { checkTemplate, type Connection, connectionOf } from './check.ts';
import { type Data, luaText } from './lua-text.ts';
import { hasSettings, manifestOf } from './manifest.ts';
import { withMeterRoles } from './meter.ts';
import { type PlanParts, planGroups, planSteps } from './plan.ts';
import { TemplateError, type TemplateProblem } from './problem.ts';
import type { SunSpecBook } from './requests.ts';

/** Files of the library that every template needs. */
export interface LibraryBooks {
  attributes: AttributeBook;
  sunSpec: SunSpecBook;
  /** Content of runtime/, by file name. */
  runtime: Readonly<Record<string, string>>;
}

interface CompileRequest {
  template: Template;
  /** Id in the library: `eastron-sdm630`. */
  id: string;
  /** Values of the template's parameters; absent ones have their default. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
}

/** The blueprint of a template. */
export interface CompiledTemplate {
  /** Path in the archive → content. The same request makes the same files. */
  files: Readonly<Record<string, string>>;
  /** The same as data. */
  manifest: Readonly<Record<string, unknown>>;
  /** Name → the key of its choice, also of those that were not given. */
  parameters: Readonly<Record<string, string>>;
  /** Digest of everything that the blueprint is made of: another digest means another blueprint. */
  digest: string;
}

interface ArchiveParts {
  id: string;
  parameters: Readonly<Record<string, string>>;
  manifest: Readonly<Record<string, unknown>>;
  plan: Readonly<Record<string, Data>>;
  kind: Connection;
  /** Decoder in runtime/ for the telegrams of a meter. */
  decoder: string | undefined;
  /** Some answer is a CSV file. */
  hasCsv: boolean;
}

/** Scripts of runtime/ that serve each kind of connection, and their requirements. */
const SCRIPTS: Readonly<Record<Connection, readonly [string, ...string[]]>> = {
  modbus: ['modbus-transport'],
  http: ['http-transport', 'json-transport'],
  mqtt: ['mqtt-transport', 'json-transport'],
  telegrams: ['telegram-transport'],
  udp: ['udp-transport', 'json-transport'],
  clock: ['clock-transport'],
};

/** @throws TemplateError with all mistakes */
export function compileTemplate(request: CompileRequest, books: LibraryBooks): CompiledTemplate {
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
    ...settingsOf(template),
    needs_nothing: hasSettings(template) ? undefined : true,
    constants,
    has_alerts: template.alerts !== undefined ? true : undefined,
    has_schedules: groups.some(({ schedules }) => schedules !== undefined) ? true : undefined,
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
  checkTemplate({ ...parts, file: request.template, commands, roles });
  const manifest = manifestOf({ ...parts, commands, roles, constants });
  if (problems.length > 0) throw new TemplateError(problems);
  return {
    ...archiveOf(
      {
        id: request.id,
        parameters,
        manifest,
        plan,
        kind: connectionOf(template),
        decoder: template.telegrams?.format,
        hasCsv: [...parts.requests.values()].some((request) => 'csv' in request && request.csv !== undefined),
      },
      books,
    ),
    parameters,
  };
}

/**
 * The blueprint of the default parameters, if every other choice of a parameter makes one, too.
 * @throws TemplateError with the mistakes of the defaults, or of the first choice that has some
 */
export function judgeTemplate({ template, id }: CompileRequest, books: LibraryBooks): CompiledTemplate {
  const compiled = compileTemplate({ template, id }, books);
  for (const [name, { choices }] of Object.entries(withMeterRoles(template).parameters ?? {}))
    for (const choice of Object.keys(choices)) {
      if (choice === compiled.parameters[name]) continue;
      try {
        compileTemplate({ template, id, parameters: { [name]: choice } }, books);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        throw new TemplateError(
          error.problems.map(({ path, message }) => ({
            path,
            message: `${message} (with ${name}: ${choice})`,
          })),
        );
      }
    }
  return compiled;
}

/** The files, the same for the same input, and their digest. */
function archiveOf(
  { id, parameters, manifest, plan, kind, decoder, hasCsv }: ArchiveParts,
  { runtime }: LibraryBooks,
): Omit<CompiledTemplate, 'parameters'> {
  const main =
    `-- Made from the device template ${id}. What stands here is data; template.lua runs it.\n` +
    `local template = require('template')\nlocal transport = require('${SCRIPTS[kind][0]}')\n` +
    `${decoder === undefined ? '' : `transport.decoder = require('${decoder}')\n`}\n` +
    `template.start(${luaText(plan)}, transport)\n`;
  const needed = [
    'template',
    ...SCRIPTS[kind],
    ...(plan.has_schedules === true ? ['json-transport', 'schedule'] : []),
    ...(hasCsv ? ['csv'] : []),
    ...(decoder === undefined ? [] : [decoder]),
  ];
  const scripts: Record<string, string> = { 'lua/main.lua': main };
  for (const name of new Set(needed)) {
    const content = runtime[`${name}.lua`];
    if (content === undefined) throw new Error(`the library has no runtime/${name}.lua`);
    scripts[`lua/${name}.lua`] = content;
  }
  const origin = { template: id, parameters };
  const digest = createHash('sha256')
    .update(JSON.stringify([origin, manifest, scripts]))
    .digest('hex')
    .slice(0, 16);
  const complete = { ...manifest, '.library': { ...origin, digest } };
  const text = stringify(complete, { lineWidth: 110, aliasDuplicateObjects: false });
  return { files: { 'manifest.yml': text, ...scripts }, manifest: complete, digest };
}

function parametersOf(
  { template, parameters = {} }: CompileRequest,
  problems: TemplateProblem[],
): Record<string, string> {
  const declared = template.parameters ?? {};
  for (const name of Object.keys(parameters))
    if (!Object.hasOwn(declared, name))
      problems.push({ path: ['parameters', name], message: 'is no parameter of this template' });
  return Object.fromEntries(
    Object.entries(declared).map(([name, { choices, default: preset }]) => {
      const given = parameters[name] ?? preset;
      // As a text `['pv']` would be a choice.
      const value = Array.isArray(given) ? '' : String(given);
      if (!Object.hasOwn(choices, value))
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
  parameters: Readonly<Record<string, string>>,
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
  return { ...template, modbus: { ...modbus, word_order: chosen ?? '' } };
}

function holds(condition: Condition | undefined, parameters: Readonly<Record<string, string>>): boolean {
  return Object.entries(condition ?? {}).every(([name, wanted]) => {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    return values.some((value) => String(value) === parameters[name]);
  });
}

/** Properties that are the same for every device of the template. */
function constantsOf({ template, values }: PlanParts): Record<string, string> {
  const { maker: vendor, name: model } = template;
  return Object.fromEntries(Object.entries({ vendor, model }).filter(([name]) => !values.has(name)));
}

function settingsOf({ modbus, http, mqtt, telegrams, udp, clock }: Template): Record<string, Data> {
  if (clock) return {};
  if (modbus) return { timeout_ms: modbus.timeout_ms, pause_ms: modbus.pause_ms };
  if (http) {
    const { own_certificate, scheme, port, url, auth, user, timeout_s, moments } = http;
    const isInsecure = own_certificate ? true : undefined;
    return { scheme, port, url, auth, user, own_certificate: isInsecure, timeout_s, moments };
  }
  if (udp)
    return { port: udp.port, own_port: udp.own_port, pause_ms: udp.pause_ms, timeout_ms: udp.timeout_ms };
  if (!telegrams) return { stale_ms: (mqtt?.stale_s ?? 120) * 1_000 };
  return {
    is_group: telegrams.group === undefined ? undefined : true,
    port: telegrams.port,
    stale_ms: telegrams.stale_s * 1_000,
  };
}
