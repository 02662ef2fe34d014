/**
 * Authored manifest → compiled manifest (docs/interface/blueprints.md#compiled). The manifest must have
 * passed validation; compiling itself never fails. Keys keep their order, dot fields are copied as they are.
 */
import { stringify } from 'yaml';
import type {
  AccessLevel,
  CompiledAlert,
  CompiledArgument,
  CompiledAttribute,
  CompiledCommand,
  CompiledConfigurationGroup,
  CompiledManifest,
} from '../manifest.ts';
import type { MemberSection, ProfileCatalogue } from '../profiles/catalogue.ts';
import { conformance, entriesOf, satisfyingEntries, type ProfileEntry } from '../profiles/conformance.ts';
import { authoredEnumForm, bothEnumForms, enumItems, withColors } from '../source/enums.ts';
import {
  compiledEntries,
  listOf,
  mapOf,
  namesOf,
  recordOf,
  sectionOf,
  textOf,
  withoutNulls,
} from '../source/tree.ts';
import { canonicalUnit, parseUnit } from '../source/units.ts';
import { plainOf, type YamlMap } from '../source/yaml.ts';

/** Name of the one Lua file of a compiled blueprint. */
const COMPILED_SCRIPT = 'main.lua';

interface CompileContext {
  profiles: ProfileCatalogue;
  /** The parsed JSON Schema behind a `json_schema` value: inline text or a file of the archive. */
  schemaOf: (reference: string) => unknown;
}

/** Compiles a manifest of spec `device/3.0` or `device/1.0`. */
export function compileManifest(authored: YamlMap, context: CompileContext): CompiledManifest {
  const isOld = authored.get('blueprint_spec') === 'device/1.0';
  const source = isOld ? withoutNulls(authored) : authored;
  const ids = [...listOf(source.get('implements')), ...listOf(source.get('implements_draft'))];
  const entries = entriesOf(source);
  const listed = listedProfiles(context.profiles, ids, entries);
  const profiles = new Set([...ids, ...listed.flatMap(({ id, catalogue }) => catalogue.closure(id))]);
  const ownUnits = namesOf(source.get('units'));
  const shared = { schemaOf: context.schemaOf, listed, entries, ownUnits, isOld };
  const compiled: Record<string, unknown> = {};
  for (const [key, value] of source) compiled[String(key)] = plainOf(value);
  const telemetry = compileAttributes('telemetry', sectionOf(source.get('telemetry')), shared);
  Object.assign(compiled, {
    blueprint_spec: isOld ? 'device_compiled/1.0' : 'device_compiled/3.0',
    implements: [...profiles],
    properties: compileAttributes('properties', sectionOf(source.get('properties')), shared),
    telemetry: withAlertAttributes(telemetry),
    alerts: compileAlerts(sectionOf(source.get('alerts')), isOld),
    commands: compileCommands(sectionOf(source.get('commands')), shared),
    configuration: compileConfiguration(sectionOf(source.get('configuration')), shared),
  });
  delete compiled['implements_draft'];
  if (isOld) compileCommunicationModules(source, compiled);
  else compileRuntime(source, compiled);
  const units = compileUnits(source, compiled as CompiledManifest);
  if (Object.keys(units).length > 0) compiled['units'] = units;
  else if (!isOld) delete compiled['units'];
  return compiled as CompiledManifest;
}

/** Telemetry that every device has. */
function withAlertAttributes(telemetry: CompiledManifest['telemetry']): CompiledManifest['telemetry'] {
  const common = { access_level: 'readonly' as const, implements: [], aliases: [] };
  return recordOf([
    ...Object.entries(telemetry),
    ['alerts', { display_name: 'Alerts', type: 'alerts' as const, ...common }],
    ['alert_details', { display_name: 'Alert Details', type: 'object' as const, ...common }],
  ]);
}

function compileAlerts(source: YamlMap, isOld: boolean): CompiledManifest['alerts'] {
  const alerts = compiledEntries(source, (alert) => plainOf(alert) as CompiledAlert);
  if (!isOld) alerts['not_configured'] ??= { severity: 'info', display_name: 'Not Configured' };
  return alerts;
}

function compileRuntime(source: YamlMap, compiled: Record<string, unknown>): void {
  const runtime = mapOf(source.get('runtime'));
  const plain = plainOf(runtime) as Record<string, unknown>;
  if (runtime.get('type') === 'lua') plain['options'] = { file: COMPILED_SCRIPT };
  compiled['runtime'] = plain;
}

/** Compiled 1.0 manifests name their modules in a map, also when there is one (docs/interface/blueprints.md#spec-10). */
function compileCommunicationModules(source: YamlMap, compiled: Record<string, unknown>): void {
  const single = source.get('communication_module');
  const modules: YamlMap = new Map(single instanceof Map ? [['main', single]] : []);
  for (const [name, module] of mapOf(source.get('communication_modules'))) modules.set(name, module);
  delete compiled['communication_module'];
  compiled['communication_modules'] = compiledEntries(modules, (module) => ({
    product: module.get('product'),
    ...((module.has('lua_file') || module.has('lua')) && { lua_file: COMPILED_SCRIPT }),
  }));
}

/** Every unit that the manifest uses, with the author's text for the author's own. */
function compileUnits(source: YamlMap, compiled: CompiledManifest): Record<string, unknown> {
  if (compiled.blueprint_spec === 'device_compiled/1.0') return {};
  const own = sectionOf(source.get('units'));
  const units = new Map<string, unknown>([...own].map(([code, unit]) => [String(code), plainOf(unit)]));
  for (const attribute of [...Object.values(compiled.properties), ...Object.values(compiled.telemetry)]) {
    for (const code of [attribute.unit ?? [], attribute.auto_scale ?? []].flat()) {
      if (units.has(code)) continue;
      const unit = parseUnit(code);
      units.set(code, { symbol: unit?.symbol ?? code, display_name: unit?.displayName ?? code });
    }
  }
  return recordOf([...units]);
}

/** A profile that the manifest lists, and the revision of the profiles that it keeps. */
interface ListedProfile {
  id: string;
  catalogue: ProfileCatalogue;
}

interface SectionContext {
  /** Drafts included. */
  listed: ListedProfile[];
  entries: ProfileEntry[];
  schemaOf: (reference: string) => unknown;
  /** Codes of the manifest's own units, which mean what the author says. */
  ownUnits: ReadonlySet<string>;
  isOld: boolean;
}

function compileAttributes(
  section: 'properties' | 'telemetry',
  source: YamlMap,
  context: SectionContext,
): Record<string, CompiledAttribute> {
  const filled = fillProfiles(section, source, context);
  return compiledEntries(source, (entry, name) => {
    const attribute = {
      ...(plainOf(entry) as CompiledAttribute),
      access_level: (textOf(entry.get('access_level')) ?? 'readonly') as AccessLevel,
      ...filled.get(name),
    };
    const items = enumItems(entry.get('enum') ?? null, entry.get('type'));
    if (items.length > 0)
      Object.assign(
        attribute,
        bothEnumForms(section === 'telemetry' && !context.isOld ? withColors(items) : items),
      );
    if (!context.isOld) normaliseUnits(attribute, context.ownUnits);
    const schema = entry.get('json_schema');
    if (typeof schema === 'string') attribute.json_schema = context.schemaOf(schema);
    return attribute;
  });
}

function normaliseUnits(attribute: CompiledAttribute, ownUnits: ReadonlySet<string>): void {
  const canonical = (code: string): string => (ownUnits.has(code) ? code : canonicalUnit(code));
  if (attribute.unit !== undefined) attribute.unit = canonical(attribute.unit);
  if (attribute.auto_scale !== undefined) attribute.auto_scale = attribute.auto_scale.map(canonical);
}

/** The profiles that the manifest lists, each with the revision it conforms to. */
function listedProfiles(
  catalogue: ProfileCatalogue,
  ids: readonly string[],
  entries: readonly ProfileEntry[],
): ListedProfile[] {
  return [...new Set(ids)].map((id) => ({
    id,
    catalogue: conformance(catalogue, id, '', entries).catalogue,
  }));
}

/**
 * `implements` and `aliases` of every entry of a section, with what the listed profiles add: references to each member the entry stands for, and the member's name as alias where it is free.
 */
function fillProfiles(
  section: MemberSection,
  source: YamlMap,
  context: Pick<SectionContext, 'listed' | 'entries'>,
): Map<string, { implements: string[]; aliases: string[] }> {
  const entries = context.entries.filter((entry) => entry.section === section);
  const added = new Map(entries.map((entry) => [entry.name, new Set<string>()]));
  const aliases = new Map(entries.map((entry) => [entry.name, listOf(entry.source.get('aliases'))]));
  const taken = new Set([...[...source.keys()].map(String), ...[...aliases.values()].flat()]);
  for (const { id, catalogue } of context.listed) {
    for (const member of catalogue.members(id)) {
      if (member.section !== section) continue;
      const references = [
        `${member.declaredBy}.${member.name}`,
        ...context.listed
          .filter((other) => other.catalogue.closure(other.id).includes(member.declaredBy))
          .map((other) => `${other.id}.${member.name}`),
      ];
      for (const entry of satisfyingEntries(catalogue, id, member, entries)) {
        for (const reference of references) added.get(entry.name)?.add(reference);
        if (taken.has(member.name)) continue;
        taken.add(member.name);
        aliases.get(entry.name)?.push(member.name);
      }
    }
  }
  return new Map(
    entries.map((entry) => [
      entry.name,
      {
        implements: [...new Set([...entry.implements, ...[...(added.get(entry.name) ?? [])].sort()])],
        aliases: aliases.get(entry.name) ?? [],
      },
    ]),
  );
}

function compileCommands(source: YamlMap, context: SectionContext): Record<string, CompiledCommand> {
  const filled = fillProfiles('commands', source, context);
  return compiledEntries(source, (entry, name) => {
    const command: CompiledCommand = {
      ...(plainOf(entry) as CompiledCommand),
      access_level: levelOf(entry),
      ...filled.get(name),
    };
    if (entry.get('arguments') instanceof Map)
      command.arguments = compileArguments(sectionOf(entry.get('arguments')), context);
    if (entry.get('response') instanceof Map)
      command.response = compileArguments(sectionOf(entry.get('response')), context);
    const ui = entry.get('ui');
    if (ui instanceof Map) command['ui'] = compileUi(ui);
    return command;
  });
}

function compileConfiguration(
  source: YamlMap,
  context: SectionContext,
): Record<string, CompiledConfigurationGroup> {
  return compiledEntries(source, (entry) => ({
    ...(plainOf(entry) as CompiledConfigurationGroup),
    access_level: levelOf(entry),
    parameters: compileArguments(sectionOf(entry.get('parameters')), context),
  }));
}

/** Commands and configuration groups need the role `user` unless they say otherwise. */
function levelOf(entry: YamlMap): AccessLevel {
  return (textOf(entry.get('access_level')) ?? 'user') as AccessLevel;
}

function compileArguments(source: YamlMap, context: SectionContext): Record<string, CompiledArgument> {
  return compiledEntries(source, (entry) => {
    const { enum: _, ...rest } = plainOf(entry) as CompiledArgument;
    const argument: CompiledArgument = { ...rest, ...authoredEnumForm(entry) };
    const schema = entry.get('json_schema');
    if (typeof schema === 'string') argument.json_schema = context.schemaOf(schema);
    // Authors write the default of a boolean as text too.
    if (argument.type === 'boolean' && typeof argument.default === 'string')
      argument.default = argument.default === 'true';
    return argument;
  });
}

/** Two names of the same hint; the older one is not carried on. */
function compileUi(source: YamlMap): unknown {
  const { mobile_quick_access: older, ...ui } = plainOf(source) as Record<string, unknown>;
  return older === undefined || ui['quick_access'] !== undefined ? ui : { ...ui, quick_access: older };
}

/** The COMPILED view of a blueprint: files that describe the device on their own (docs/interface/blueprints.md#archive). */
export function compiledFiles(
  manifest: CompiledManifest,
  script: Uint8Array | undefined,
): Map<string, Uint8Array> {
  // Texts such as `no` are quoted, because readers of YAML 1.1 take them for booleans.
  const text = stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  const files = new Map<string, Uint8Array>([['manifest.yml', Buffer.from(text)]]);
  if (script !== undefined) files.set(COMPILED_SCRIPT, script);
  return files;
}
