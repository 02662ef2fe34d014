/**
 * Authored manifest → compiled manifest (docs/interface/blueprints.md#compiled). The manifest must have
 * passed validation; compiling itself never fails. Keys keep their order, dot fields are copied as they are.
 */
import { compileAttributes, listedProfiles } from './attributes.ts';
import { compileCommands, compileConfiguration } from './commands.ts';
import type { CompiledAlert, CompiledManifest } from '../manifest.ts';
import type { ProfileCatalogue } from '../profiles/catalogue.ts';
import { entriesOf } from '../profiles/conformance.ts';
import {
  compiledEntries,
  listOf,
  mapOf,
  namesOf,
  recordOf,
  sectionOf,
  withoutNulls,
} from '../source/tree.ts';
import { parseUnit } from '../source/units.ts';
import { plainOf, type YamlMap } from '../source/yaml.ts';

/** Name of the one Lua file of a compiled blueprint. */
export const COMPILED_SCRIPT = 'main.lua';

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

/**
 * Compiled 1.0 manifests name their modules in a map, also when there is one (docs/interface/blueprints.md#spec-10).
 */
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
