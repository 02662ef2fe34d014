/** Reads and compiles templates: the work of the library's thread. */
import {
  type CompiledTemplate,
  compileTemplate,
  faultsOf,
  judgeTemplate,
  type ParsedTemplate,
  parseTemplate,
  type Template,
  TemplateError,
  templateJsonSchema,
  withMeterRoles,
} from '#library';
import type { CompiledManifest } from '../blueprints/index.ts';
import type { LibraryFiles } from './library-files.ts';
import type { LibraryDevice, LibraryEntry, LibraryValue, Transport } from './model.ts';
import type { Recogniser } from './recognition.ts';
import type { CompiledDevice, JudgedTemplate, LibraryAnswer, LibraryTask } from './tasks.ts';

type Source = LibraryDevice['source'];

/** Answer of a task without a result. */
class Refusal extends Error {
  readonly answer: LibraryAnswer;

  constructor(answer: LibraryAnswer) {
    super('refused');
    this.answer = answer;
  }
}

export function answerOf(task: LibraryTask, files: LibraryFiles, recogniser: Recogniser): LibraryAnswer {
  try {
    if (task.kind === 'devices') return { result: devicesOf(files, task.own) };
    if (task.kind === 'schema') return { result: JSON.stringify(templateJsonSchema(), undefined, 2) };
    if (task.kind === 'questions') return { result: recogniser.questions(task.own) };
    if (task.kind === 'recognise') return { result: recogniser.recognise(task.evidence, task.own) };
    const text = task.kind === 'judge' ? task.text : (task.text ?? files.texts.get(task.id));
    if (text === undefined) return { result: undefined };
    const parsed = parseTemplate(text);
    if (parsed.template === undefined) return { faults: parsed.faults };
    if (task.kind === 'judge') return { result: judged(parsed, parsed.template, files) };
    const source = task.text === undefined ? 'LIBRARY' : 'OWN';
    return {
      result:
        task.kind === 'entry'
          ? entryOf(task.id, source, compiled(task.id, parsed, {}, files).manifest, parsed.template)
          : compiledDevice(task, parsed, parsed.template, files),
    };
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
}

/** Those of the owner that this version cannot read are left out: their upload was judged by another one. */
function devicesOf(files: LibraryFiles, own: Readonly<Record<string, string>> | undefined): LibraryDevice[] {
  const texts = own ? Object.entries(own) : [...files.texts];
  return texts.flatMap(([id, text]) => {
    const { template } = parseTemplate(text);
    return template ? [deviceOf(id, own ? 'OWN' : 'LIBRARY', template)] : [];
  });
}

function deviceOf(id: string, source: Source, template: Template): LibraryDevice {
  const { name, maker, products, category, icon, verified } = template;
  const roles = withMeterRoles(template).roles ?? [];
  return {
    id,
    source,
    name,
    maker,
    products,
    category,
    icon,
    roles: [...new Set(roles.map(({ role }) => role))],
    transports: transportsOf(template),
    verified,
  };
}

const MODBUS = { tcp: 'MODBUS_TCP', rtu: 'MODBUS_RTU', rtu_over_tcp: 'MODBUS_RTU_OVER_TCP' } as const;

const TELEGRAMS = { serial: 'SERIAL', tcp: 'TCP', multicast: 'UDP' } as const;

/** Empty where values follow from settings alone. */
function transportsOf({ modbus, http, mqtt, telegrams, udp }: Template): Transport[] {
  if (modbus) return modbus.transports.map((transport) => MODBUS[transport]);
  if (telegrams) return telegrams.transports.map((transport) => TELEGRAMS[transport]);
  return http ? ['HTTP'] : mqtt ? ['MQTT'] : udp ? ['UDP'] : [];
}

function entryOf(
  id: string,
  source: Source,
  made: CompiledTemplate['manifest'],
  template: Template,
): LibraryEntry {
  const manifest = made as Partial<CompiledManifest>;
  const values = (section: 'properties' | 'telemetry'): LibraryValue[] =>
    Object.entries(manifest[section] ?? {})
      .filter(([, { type }]) => type !== 'alerts')
      .map(([name, { display_name: displayName, type, unit }]) => ({
        name,
        displayName,
        type,
        unit,
        isProperty: section === 'properties',
      }));
  return {
    ...deviceOf(id, source, template),
    description: template.description,
    sources: template.sources,
    before: template.before ?? [],
    parameters: Object.entries(withMeterRoles(template).parameters ?? {}).map(([name, parameter]) => ({
      name,
      displayName: parameter.name,
      description: parameter.description,
      choices: Object.entries(parameter.choices).map(([value, displayName]) => ({ value, displayName })),
      default: String(parameter.default),
    })),
    connection: manifest.configuration?.['connection']?.parameters ?? {},
    values: [...values('telemetry'), ...values('properties')],
    commands: Object.entries(manifest.commands ?? {}).map(([name, command]) => ({
      name,
      displayName: command.display_name,
      description: command.description,
      accessLevel: command.access_level,
    })),
  };
}

const DRAFT = 'own-draft';

/** @throws Refusal with the faults of the template */
function judged(parsed: ParsedTemplate, template: Template, { books }: LibraryFiles): JudgedTemplate {
  try {
    const { manifest, files } = judgeTemplate({ template, id: DRAFT }, books);
    return { entry: entryOf(DRAFT, 'OWN', manifest, template), files };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new Refusal({ faults: faultsOf(error.problems, parsed) });
  }
}

function compiledDevice(
  { id, parameters: given, isForgiving }: Extract<LibraryTask, { kind: 'compile' }>,
  parsed: ParsedTemplate,
  template: Template,
  files: LibraryFiles,
): CompiledDevice {
  const wanted = isForgiving === true ? fittingParameters(template, given) : given;
  const { parameters, digest, manifest, files: archive } = compiled(id, parsed, wanted, files);
  return { name: template.name, parameters, digest, manifest, files: archive };
}

function fittingParameters(
  template: Template,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const declared = withMeterRoles(template).parameters ?? {};
  return Object.fromEntries(
    Object.entries(given).filter(
      ([name, value]) =>
        Object.hasOwn(declared, name) && Object.hasOwn(declared[name]?.choices ?? {}, String(value)),
    ),
  );
}

/** @throws Refusal with the parameters that the caller gave wrongly, or else the faults of the template */
function compiled(
  id: string,
  parsed: ParsedTemplate,
  parameters: Readonly<Record<string, unknown>>,
  { books }: LibraryFiles,
): CompiledTemplate {
  try {
    return compileTemplate(
      { template: parsed.template as Template, id, parameters: parameters as Record<string, string> },
      books,
    );
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const refused = error.problems.flatMap(({ path: [section, name], message }) =>
      section === 'parameters' && typeof name === 'string' && Object.hasOwn(parameters, name)
        ? [{ name, message }]
        : [],
    );
    throw new Refusal(refused.length > 0 ? { refused } : { faults: faultsOf(error.problems, parsed) });
  }
}
