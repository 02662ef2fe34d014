/**
 * All problems of a manifest in one pass, in document order, never throwing (docs/interface/blueprints.md#manifest).
 * Profiles and Lua files are judged by their own parts.
 */
import type { YamlMap } from '../source/yaml.ts';
import { checkAlerts, checkOwnUnits } from './alerts.ts';
import { checkAttributes } from './attributes.ts';
import { checkCommandGroups, checkCommands, checkConfiguration } from './commands.ts';
import type { ManifestContext } from './context.ts';
import { checkCommunicationModules, checkRuntime } from './runtime.ts';
import {
  anything,
  checkObject,
  choice,
  filledText,
  text,
  texts,
  textOrTexts,
  type Field,
  type Shape,
} from './shape.ts';

export const CATEGORIES = [
  'hydrogen-storage',
  'electrolysers',
  'solar-generators',
  'fuel-cells',
  'water-treatment',
  'battery-systems',
  'power-meters',
  'hvac',
  'electric-vehicles',
  'control',
  'data-providers',
  'sensors',
];

const SPECS = ['device/1.0', 'device/3.0'];

const SUPPORT: Shape<ManifestContext> = { fields: { url: { check: text }, email: { check: text } } };

type Fields = Record<string, Field<ManifestContext>>;

const COMMON: Fields = {
  blueprint_spec: { check: choice(SPECS), required: true },
  display_name: { check: filledText, required: true },
  description: { check: text },
  icon: { check: text },
  license: { check: text },
  author: { check: text },
  contributors: { check: texts },
  support: { check: (context, path, value) => void checkObject(context, path, value, SUPPORT) },
  implements: { check: textOrTexts },
  properties: { check: (context, _, value) => checkAttributes(context, 'properties', value) },
  telemetry: { check: (context, _, value) => checkAttributes(context, 'telemetry', value) },
  alerts: { check: (context, _, value) => checkAlerts(context, value) },
  command_groups: { check: (context, _, value) => checkCommandGroups(context, value) },
  commands: { check: (context, _, value) => checkCommands(context, value) },
};

const NEW: Shape<ManifestContext> = {
  spec: 'device/3.0',
  removed: ['vendor', 'verification_level', 'communication_module', 'communication_modules'],
  fields: {
    ...COMMON,
    category: { check: choice(CATEGORIES) },
    implements_draft: { check: textOrTexts },
    runtime: { check: (context, _, value) => checkRuntime(context, value), required: true },
    configuration: { check: (context, _, value) => checkConfiguration(context, value) },
    units: { check: (context, _, value) => checkOwnUnits(context, value) },
  },
};

const OLD: Shape<ManifestContext> = {
  spec: 'device/1.0',
  fields: { ...COMMON, vendor: { check: anything }, verification_level: { check: anything } },
};

/** Reports every problem of the manifest's form into `context.problems`. */
export function checkManifest(context: ManifestContext): void {
  checkObject(context, '', context.manifest, context.isOld ? OLD : NEW);
  if (context.isOld) checkCommunicationModules(context);
}

/** True when the spec is one whose rules are known; otherwise it is the manifest's only problem. */
export function checkSpec(manifest: YamlMap, context: Pick<ManifestContext, 'problems'>): boolean {
  const spec = manifest.get('blueprint_spec');
  const scope = { problems: context.problems, isOld: false };
  if (spec === undefined || spec === null) context.problems.add('blueprint_spec', 'required');
  else choice(SPECS)(scope, 'blueprint_spec', spec);
  return typeof spec === 'string' && SPECS.includes(spec);
}
